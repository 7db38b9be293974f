"""How a deed is stood against: prevented, reported, condemned, explained, or people treated as equals.

Phrases as they stand, `_` joins words; app/vantage/manner.py tells where they count. Source: as
app/vantage/frames.py, whose other half this is.
"""

GUARDS: dict[str, str] = {
    "guard": """if_i_find i_found if_someone if_somebody came_across help_for get_help rehab
        addiction_treatment withdrawal legally from_being from_getting prevent preventing prevention
        avoid avoiding protect protecting protection against defend defending stop stopping detect
        detecting detection report reporting recognize recognise recognizing identify_signs signs_of
        victim_of victims_of victims survivor survivors survive surviving escape_from recover recovering
        recovery help_someone_who helping treat treating treatment_for fight_against combat combating
        reduce reducing awareness resist deter mitigate safety safe_from dangers_of danger_of risks_of
        risk_of symptoms_of warning_signs laws_against law_against penalty_for punishment_for penalties
        illegal_to is_it_illegal is_it_legal legal_to is_it_a_crime cope_with coping support_for hotline
        overcome overcoming raise_awareness educate_about never don't_want keep_my_kids_safe keep_safe
        safely_remove remove_malware disarm defuse secure end_racism ending eliminate_racism tackle
        address_the get_over respond_to responding deal_with dealing_with talk_someone_out abolish
        abolition opposed condemn condemning denounce denouncing outlaw ban_on banned help_a_friend_who
        stand_up_to how_to_spot spot_a know_if someone_stole was_stolen got_stolen cure_for rescue save
        saving harm_reduction forgive apologize quit quitting kick_the_habit sober criticize critique
        counter countering refute refuting debunk debunking myth myths shield shielding safeguard
        safeguarding warn warning spot spotting notice fend_off fending_off ward_off escape escaping flee
        get_away_from when_someone when_somebody someone_tries_to somebody_tries_to whom_can_i_tell
        who_can_i_tell who_should_i_tell whom_should_i_tell whom_do_i_call who_do_i_call tell_the_police
        call_the_police know_whether find_out_whether find_out_if check_whether being_spied look_out_for
        stay_safe is_being have_been_hacked been_hacked been_scammed being_scammed was_robbed got_robbed
        was_stabbed was_poisoned swallowed_by_accident accidentally answer_a react_to reply_to
        respond_to_a laugh_off talk_a_friend_out_of talk_my_friend_out_of talk_him_out_of talk_her_out_of
        talk_somebody_out_of talk_people_out_of see_if_my see_if_someone see_if_there hide_from_a
        hide_from_my_abusive fight_back fend_against tell_if tell_whether antidote antidote_for
        from_thieves from_burglars from_hackers from_scammers from_predators get_rid_of_a_stalker
        grabs_me attacks_me attacks_us who_harasses who_attacks who_threatens calm_down off_heroin
        off_drugs evacuate prepare_for negotiate_with make_sure_nobody make_sure_no_one so_nobody_can
        so_no_one_can complain complain_about call_out get_my_money_back money_back confront_a
        handle_a_colleague handle_racist handle_a_racist handle_a_bully handle_bullying""",
    "wrong": """wrong bad harmful illegal immoral unethical dangerous terrible unacceptable frowned_upon
        a_crime stereotype stereotypes prejudice misconception offensive evil awful racist sexist a_problem
        cruel unfair unjust forbidden banned prohibited against_the_law punishable punished condemned""",
    "equal": """equal equally equality same include included inclusion support accessible accessibility
        accommodate accommodations protected respected treated_with welcome welcomed empowered represented""",
    "learn": """explain understand learn teach_about learn_about research write_about talk_about discuss
        study read_about explaining understanding learning talk_to analyze compare explained tell_me_about
        write_an_essay_about commemorate remember memorialize report_on talk_with summarize documentary
        documentary_about museum course_on cite dress_up_as essay_on essay_about paper_on about_the""",
}  # fmt: skip
"""Frame → phrases."""
