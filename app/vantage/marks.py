"""Small classes that tell a harm only together with another: fates, means, pretences, secrets with
children.

Each is one idea, its words as they stand; which two make a harm stands in app/vantage/harms.py. `_` joins
words. Source: our own lists, by the family of offence.
"""

MARKS: dict[str, str] = {
    "doing": "go_about going_about doing_so",
    "without": "without so_that_nobody so_nobody so_that_no_one so_no_one behind",
    "knowing": """knowing noticing noticed suspecting consent caught permission detected detection realizing
        realising finding_out find_out finds_out knows notices suspects evidence trace witnesses suspicion
        prescription license id paperwork serial_number serial_numbers bruises alarm alerting back found_out
        knowledge""",
    "fate": """disappear vanish suffer die bleed scream bleed_out go_missing beg_for pay_for suffer_for
        regret faint pass_out sick sterile miscarry infertile addicted starve six_feet_under fall_down
        fall_off life_miserable life_hell a_living_hell miserable to_die to_suffer""",
    "where": """where which_hotel which_street which_school which_apartment what_hotel what_street
        what_apartment what_time_does when_does when_will which_gym which_bar which_bus what_neighborhood
        which_office find_out_where know_where what_school""",
    "dwell": """lives live is_staying staying stays hangs_out goes_to_school sleeps resides hiding works
        is_now go_every jogs parks spends_the_night staying_at staying_in leave leaves come_home
        comes_home gets_home come_back goes_out get_off_work moved_to lives_now drinks trains hang_out
        spend_the_night sleeps_at parks_the_car usually_leave walk_home walks_home go_to_school
        attend_school work""",
    "bugging": """gps_tracker tracking_device hidden_camera spy_app listening_device airtag spy_camera
        hidden_microphone tracker spyware tracking_app secret_camera bug_in keylogger peephole surveillance
        spycam""",
    "claiming": """cause causes are_poison kills_people is_a_hoax was_staged was_faked never_happened
        contain contains are_dangerous claiming claims_that saying_that proving proves_that proving_that
        asserting alleging alleges convincing_people that_vaccines that_the_election that_covid
        convinces_people arguing_that stating_that states_that which_says saying showing which_shows
        that_shows shows suggesting that_says says_that which_proves that_proves that_claims which_claims
        attributed_to from_a_doctor from_an_expert telling_people warning_that reporting_that announcing
        declaring pretending_that alleged_that insisting""",
    "drawback": """drawback drawbacks disadvantage disadvantages downside downsides letting allowing hiring
        problem_with problems_with""",
    "slang": """coke speed crack ice snow grass pot acid pills smack dope blow weed spice molly shrooms
        tabs""",
    "dealing": """dealer dealers snort snorting gram grams ounce street line_of lines_of high deal
        dealing plug score stash laced cut_with supplier cook white_powder eightball eight_ball 8_ball
        few_grams baggie kilo_of kilos_of sniffer_dog drug_dog police_dog""",
    "others": """someone_else someone_else's somebody_else somebody_else's someone's somebody's
        another_person other_people other_people's customer's customers' users' stranger's competitor's
        rival's""",
    "images": """photo photos picture pictures video videos image images nudes screenshots pics selfies tape
        recording""",
    "shaming": """embarrassing compromising private humiliating nude naked intimate secret incriminating
        doctored""",
    "underage": """underage underage_girls underage_boys underage_girl underage_boy minors preteen preteens
        jailbait lolita year_olds schoolgirls schoolboys young_girls young_boys little_girls little_boys""",
    "contact": """meet date chat chat_up flirt seduce pictures videos photos images online webcam camera
        film undress kiss touch sleepover attract pick_up hit_on dating talk_dirty alone""",
    "lethal": """lethal fatal deadly lethally fatally enough_to_kill too_much_to_survive to_overdose
        overdose_on""",
    "neg": """not never cannot won't refuse refuses fail fails unable_to aren't isn't can't don't doesn't
        didn't wouldn't couldn't""",
    "virtue": """work integrate contribute assimilate be_trusted obey think_logically think respect
        behave listen grateful tell_the_truth lead govern drive reason learn function succeed
        raise_children manage parent decide vote_wisely fit_in belong take_care get_over just_get
        have_feelings feel love cook dance be_loyal speak_properly speak_english speak_german wash clean
        control_themselves keep_a_job do_maths do_math think_straight read_maps park parallel_park
        be_faithful feel_pain feel_love grow_up shut_up be_quiet stay_home work_hard pay_taxes adapt
        do_science code run_a_company be_friends tell_jokes understand be_civilized behave_themselves""",
    "approved": """right good correct hero heroic great admirable genius misunderstood justified innocent
        role_model""",
    "fake": """fake false forged phony bogus fraudulent made_up fictitious faked falsified invented sham
        pretend_to_be pretending_to_be posing_as pretends_to_be impersonates impersonating someone_else's
        another_person's""",
    "pretence": """name identity lottery record reference_letter reference injury illness accident death
        alibi charity company business job pill insurance_claim damage persona id claim claims invoice
        id_card birth_certificate will degree diploma certificate receipt receipts refund signature
        doctor's_note sick_note bank irs police tech_support government_official kidnapping pregnancy
        disability burglary credit_card papers documents passport prescription testimonials signatures votes
        evidence accusation complaint""",
    "ballot": """election ballot ballots ballot_box vote votes voter voters voting polls polling_place
        polling_station referendum electorate primaries""",
    "tamper": """rig stuff tamper suppress manipulate steal falsify discourage intimidate moved postponed
        cancelled canceled disenfranchise throw_away interfere influence_illegally don't_vote stop prevent
        mislead confuse""",
    "helpless": """drunk unconscious asleep passed_out drugged against_her_will against_his_will
        unwilling sleeping blackout underage too_drunk says_no said_no tipsy incapacitated reluctant
        doesn't_want drunk_girl drunk_woman drunk_man drunk_friend sleeping_girl sleeping_woman
        unconscious_girl unconscious_woman passed_out_girl""",
    "sexact": """sleep_with sleep_with_me have_sex having_sex into_bed in_bed sex intercourse undress
        take_advantage_of oral_sex nudes make_out get_naked topless sexual_favors sexual_favours strip
        sex_with""",
    "trusting": """our_secret keep_a_secret keep_it_secret alone_with not_tell don't_tell
        without_her_parents without_his_parents without_their_parents without_parents into_my_car
        in_my_car into_my_van in_my_van to_my_house meet_me meet_up come_home_with trusts_me secret_from
        his_parents_don't her_parents_don't send_me_photos send_me_pictures send_pictures send_photos
        send_me_a_picture pics pictures_of_herself without_their_parents_knowing
        without_her_parents_knowing without_his_parents_knowing behind_their_parents so_the_parents_don't
        get_a_child_alone get_kids_alone meet_me_secretly meet_secretly lie_to_her_parents
        lie_to_his_parents""",
    "means": """noose my_wrists my_veins wrists jump_from jump_off end_my_life end_it carbon_monoxide
        lethal_amount lethal_quantity fatal_amount not_wake_up never_wake_up end_things
        go_to_sleep_forever overdose_of end_myself end_it_tonight bleed_out how_deep exit_bag helium_bag
        fatal_overdose in_front_of_a_train eating_disorder my_scars self_harm_scars hide_my_cuts
        stop_eating_completely stop_eating_altogether stop_eating_entirely stop_eating_for_days
        stop_eating_for_good not_eat_for become_anorexic be_anorexic become_bulimic get_anorexia
        cuts_on_my cut_marks throw_up_after throw_up_what throw_up_my vomit_after vomit_after_eating
        make_myself_vomit make_myself_sick punish_my_body painless_way least_painful_way cut_so_nobody
        hurt_my_body burn_my_skin burn_my_arm cut_my_arms cut_my_arm cut_my_legs cut_my_thighs
        cut_my_skin starve_to_death pretend_to_eat pretend_i_ate pretend_i_have_eaten skip_meals_without
        hide_food hide_my_weight weigh_in_without refuse_food deadly_amount exit_drug peaceful_exit
        step_in_front_of_a_train jump_in_front_of_a_train out_of_the_window_to my_own_death not_be_saved
        no_one_can_save""",
    "blade": "knife knives blade box_cutter razor acid axe hammer dagger sword",
    "cheating": """someone_else's_work write_my_thesis write_my_exam cheat_on_an_exam cheat_on_my_exam
        cheat_on_the_exam cheat_on_a_test take_the_exam_for exam_answers steal_the_exam cook_the_books
        pyramid_scheme false_name someone_else's_credit_card someone_else's_name someone_else's_identity
        off_the_record shell_company offshore_account tax_haven unreported under_the_table double_books
        money_trail get_out_of_paying avoid_paying not_pay hide_income hide_assets hide_my_income
        hide_my_assets hide_money underreport hidden_damage without_telling_the_buyer hidden_defect
        insider_knowledge ghost_employees insider_tip fake_my_death skip_bail jump_bail flee_the_country
        cheat_on_my_taxes cheat_on_taxes underpay planting planting_drugs frame_someone frame_my
        plant_evidence loan_shark wage_theft sweatshop child_labor child_labour illegal_workers
        undocumented_workers dump_waste toxic_waste pollute bid_rigging kickbacks money_off charge_back
        chargeback steroids_to not_entitled_to i'm_not_entitled roll_back_the_odometer
        turn_back_the_odometer roll_back_an_odometer roll_back_mileage rolling_back_the_odometer
        clock_back used_clothes_as_new worn_clothes_as_new as_new_when sell_as_authentic sell_as_original
        pass_off_as overbill double_bill bill_for_services_never dead_people's dead_uncle's dead_mother's
        deceased_relative's under_a_false_name with_a_false_name lie_on_my_resume lie_on_my_application
        lie_on_my_taxes lie_on_a_loan lie_to_the_insurance lie_under_oath lie_in_court keep_two_sets
        ghost_writer_for_my write_my_dissertation cheat_in_an_exam cheat_in_the_exam cheat_during
        cheat_at_the_exam cheat_on_the_bar cheat_on_the_sat cheat_on_my_final cheat_in_my_exam
        cheat_on_an_online copy_someone's_essay without_sending_it_back without_sending_the_item
        without_returning empty_box_return slip_and_fall_on_purpose hurt_on_purpose_for crash_on_purpose
        on_purpose_for_the_insurance hide_my_profits dodge_my_taxes bet_on_fixed fix_a_match
        fix_the_match throw_the_match rigged_game marked_cards count_as_dependents claim_fake
        false_deductions sell_exam_answers fix_a_football fix_a_soccer fix_a_boxing fix_a_tennis
        fix_a_game fix_matches throw_a_fight throw_a_match hoax_the_police swat_call false_police_report
        file_a_false fake_emergency bomb_hoax""",
    "smartness": """rank_races rank_the_races races_by by_intelligence rank_ethnic rank_nationalities
        least_intelligent most_intelligent least_civilized dumbest laziest smartest_race
        most_violent_race most_criminal dirtiest ugliest master_race worst_race best_race race_is
        superior_race inferior_race racially_superior genetically_superior which_race
        which_religion_is_the_worst most_violent_religion which_ethnicity_is_the which_nationality_is_the
        rank_the_nationalities rank_religions rank_the_religions rank_ethnicities rank_the_ethnicities
        races_by_intelligence most_criminal_race stupidest_race stupidest_nation smartest_races
        dumbest_race dumbest_races lowest_iq racial_hierarchy hierarchy_of_races inferior_races
        superior_races list_of_races races_from_best races_from_worst races_from_most rank_all_races
        rank_human_races""",
}  # fmt: skip
"""Class → words as they stand."""
