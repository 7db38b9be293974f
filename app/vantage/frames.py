"""How it is asked: wanting to do, wanting it made, wanting to know; and what makes it worse.

Phrases, `_` joins words; a form that counts is listed as it stands. `how`, `make_me`, `want` are
operational; `know` asks about the world; `covert` wants it unseen. What stands against the deed: guards.py.
Source: the speech-act distinction of directives, questions and expressives; our own lists.
"""

FRAMES: dict[str, str] = {
    "how": """how_do_i how_can_i how_to how_should_i how_could_i how_would_i how_might_i how_do_you
        how_can_you how_would_you how_do_we how_can_we how_should_we how_could_we how_would_we
        how_might_we how_can_one how_does_one how_would_one how_could_one how_might_one how_should_one
        how_could_someone how_can_someone how_would_someone how_might_someone how_can_people
        how_could_you how_would_a_person how_should_you how_best_to how_may_i how_am_i_supposed_to
        how_d_i best_way best_ways way_to ways_to way_of ways_of ways_for trick_to trick_for
        is_there_a_way any_way_to any_tips what_do_i_have_to_do what's_needed what_is_needed go_about
        going_about need_a_plan how_one how_someone how_i_can how_i_could how_i_might how_we_can
        how_you_can how_you_could what_would_i_need what_would_you_need what_do_you_need which_tool
        which_tools what_tool the_trick_to the_secret_to the_key_to the_steps_to process_for process_of
        what_can_i_take easiest_way easy_way_to quickest_way fastest_way cheapest_way most_effective
        most_efficient methods_to methods_for methods_of method_to method_of method_for technique_to
        techniques_to techniques_for techniques_of steps_to steps_for steps_of steps_involved
        step_by_step guide guide_to tutorial tips_on tips_for tips_to recipe_for recipe teach_me
        show_me_how walk_me_through train_me tell_me_how explain_how_to where_can_i where_do_i
        where_could_i where_should_i where_to where_can_you where_can_one where_would_i can_i could_i
        may_i should_i should_we would_it_be_ok is_it_ok_to is_it_okay_to what_do_i_need
        what_should_i_use what_should_i_do_to what_can_i_use what_is_needed_to ingredients_for
        ingredients_to materials_needed materials_for what_tools what_do_you_need_to blueprint_for
        formula_for procedure_for strategies_for strategies_to strategy_to strategy_for tactics_to
        tactics_for perfect_plan plan_a plan_to plan_for plans_for ideas_for tricks_to tricks_for
        which_poison what_poison what_drugs_can what_drug_can when_is_the_best_time good_way_to advice_on
        what_is_the_safest what_is_the_best what_are_the_best what's_the_best whats_the_best
        how_many_do_i how_much_do_i how_long_should_i how_many_pills how_2 what_could_i
        how_would_somebody what_kind_of_weapon manual for_dummies what_can_i_do_to diy homemade at_home
        from_scratch how_would_a how_would_an how_could_a how_can_a how_could_an how_can_an
        how_could_they how_can_they best_place_to cheapest_place_to good_place_to easiest_place_to
        best_places_to place_to_buy places_to_buy what_chemicals which_chemicals what_ingredients
        which_ingredients what_household which_household what_materials which_materials what_fertilizer
        which_fertilizer what_substances which_substances what_do_i_mix what_should_i_mix what_can_i_mix
        best_spot_to best_method do_i_need would_i_need do_you_need what_parts which_parts what_amount
        i_can_make_at_home i_can_make i_can_build best_approach best_technique good_technique right_way
        proper_way smartest_way safest_way surest_way simplest_way clever_way cheap_way discreet_way
        get_hold_of get_started where_do_people which_website which_websites which_site which_sites
        which_shop which_store what_website""",
    "how_i": """how_do_i how_can_i how_should_i how_could_i how_would_i how_might_i how_do_you
        how_can_you how_would_you how_do_we how_can_we how_should_we how_could_we how_would_we
        how_might_we how_can_one how_does_one how_would_one how_could_one how_might_one how_should_one
        how_could_someone how_can_someone how_would_someone how_might_someone how_can_people
        how_could_you how_should_you how_may_i how_am_i_supposed_to how_d_i what_can_i_take teach_me
        show_me_how walk_me_through train_me tell_me_how where_can_i where_do_i where_could_i
        where_should_i where_can_you where_can_one where_would_i can_i could_i may_i should_i should_we
        what_do_i_need what_should_i_use what_should_i_do_to what_can_i_use what_do_you_need_to
        how_many_do_i how_much_do_i how_long_should_i what_could_i how_would_somebody what_can_i_do_to
        how_to what_chemicals which_chemicals what_ingredients which_ingredients what_household
        which_household what_fertilizer what_do_i_mix what_should_i_mix what_can_i_mix do_i_need
        would_i_need i_can_make_at_home""",
    "want": """tell_me can_you could_you would_you will_you assist_in assist_with help_with help_to
        can_someone i_want_to i_want i_wanna i'm_going_to i_am_going_to i_plan_to i_need_to i_need
        i_would_like_to i'd_like_to i'm_planning_to i_am_planning_to i'm_trying_to i_am_trying_to help_me
        i_intend_to i'm_thinking_of i'm_thinking_about i_am_thinking_about i_feel_like i_wish_to i'm_gonna
        gonna i_will i'll we_want_to we_need_to let's let_us can_you_help could_you_help assist_me
        please_help i'm_about_to i_decided_to looking_to i'm_looking_to we_plan_to my_plan_is_to
        i_am_looking_to help_us i_hope_to my_goal_is_to i_have_to i_would_love_to i'd_love_to thinking_of
        thinking_about i_am_about_to""",
    "make_me": """argue explain_why reasons_why give_reasons list_reasons justify_why write generate compose
        draft create give_me tell_me_a make_me produce provide provide_me_with come_up_with send_me show_me
        give write_me outline can_you_write script_for poem joke jokes story_about speech_that speech
        article blog_post tweet song_about letter_to letter post_that argument_for arguments_for persuade_me
        convince_me rewrite pretend roleplay role_play act_as make_it_sound simulate invent suggest a_story
        rap slogan slogans pamphlet manifesto fabricate draw paint illustrate help_me_write help_me_find
        share_with_me reveal disclose""",
    "know": """how_do how_can how_could how_would how_should who what's what when why which did was were
        does has_been definition define meaning mean means defined historically history historical origin
        origins etymology difference_between statistics how_many how_much how_did how_was how_were how_does
        how_is how_are how_has how_have what_happened what_is what_are what_was what_were explain_the
        describe_the explain_what cause_of causes_of causes consequences effects effect_of impact impact_of
        role_of famous first_recorded century how_common how_often how_long_did during_the in_the_war term
        terms word concept legal_definition synonym synonyms translate translation plot summary summarize
        summarise overview theory lawsuit trial verdict convicted sentenced how_do_police how_do_scientists
        how_do_historians rates rate trends number_of how_do_doctors how_do_people how_do_vaccines
        how_do_banks how_did_they""",
    "world": """who when why did was were does has_been definition define meaning defined historically
        history historical origin origins etymology difference_between statistics how_did how_was how_were
        how_is how_are how_has how_have what_happened what_was what_were causes_of consequences
        first_recorded century how_long_did during_the in_the_war concept legal_definition synonym synonyms
        translate translation plot summary summarize summarise overview lawsuit trial verdict convicted
        sentenced how_do_police how_do_scientists how_do_historians how_do_doctors how_do_people
        how_do_vaccines how_do_banks how_did_they""",
    "covert": """undetected without_getting_caught without_being_caught get_away_with getting_away_with
        without_a_trace untraceable undetectable without_being_detected without_leaving_evidence
        without_evidence no_witnesses without_anyone_knowing without_anyone_noticing without_them_knowing
        without_her_knowing without_him_knowing without_their_knowledge without_her_knowledge
        without_his_knowledge without_consent without_her_consent without_permission illegally
        without_paying secretly evade_detection avoid_detection avoiding_detection evading_detection
        getting_caught get_caught being_caught avoid_getting_caught leave_no_trace cover_my_tracks
        hide_the_body dispose_of_a_body dispose_of_the_body hide_a_body get_rid_of_a_body hide_evidence
        hide_the_evidence destroy_evidence dissolve_a_body perfect_crime make_it_look_like_an_accident
        look_like_an_accident make_it_look_like cover_up without_suspicion without_raising_suspicion
        without_their_consent unnoticed without_a_prescription without_prescription without_a_license
        without_id under_the_radar behind_their_back without_their_permission evade_the_police
        avoid_the_police avoid_arrest evade_police without_being_noticed without_being_seen off_the_books
        without_him_noticing without_her_noticing without_them_noticing no_background_check
        without_a_background_check bypass_security bypass_the_security surreptitiously without_alerting
        without_my_wife_knowing without_my_parents_knowing unsuspecting without_my_husband_knowing
        without_the_owner's_permission without_setting_off without_a_doctor without_seeing_a_doctor
        without_a_script no_prescription unseen unnoticed_by off_the_record_so no_questions_asked
        without_paperwork on_the_dark_web on_the_darknet without_my_doctor from_the_police from_the_cops""",
    "feel": """i_want_to_die i_don't_want_to_live i_wish_i_was_dead i_wish_i_were_dead suicidal
        i_feel_suicidal no_reason_to_live better_off_dead i_hate_my_life can't_go_on end_it_all
        nothing_to_live_for tired_of_living i_can't_take_it_anymore want_to_disappear_forever
        life_is_not_worth don't_want_to_be_alive want_to_kill_myself going_to_kill_myself
        want_to_end_my_life thinking_of_killing_myself life_is_meaningless not_worth_living
        don't_want_to_exist wish_i_wasn't_born wish_i_had_never_been_born i_feel_hopeless i_feel_worthless
        better_off_without_me ready_to_die rather_be_dead i_want_to_hurt_myself thinking_about_suicide
        thoughts_of_suicide suicidal_thoughts no_point_in_living""",
    "demean": """to_blame responsible_for the_cause_of fault replace_us replacing_us invade plotting
        conspiracy threat_to a_danger the_problem cannot_think can't_think can't_drive cannot_drive
        can't_lead cannot_lead never_work bad_drivers worse_at not_suited unsuited unqualified
        less_qualified terrible_at sponge_off live_off rape commit_fraud spread_disease spread_diseases
        spreading_disease destroy_our weaken_our pollute_our contaminate ignorant rude intolerant
        incapable unproductive inefficient useless liars cheaters corrupt bad_behavior backward
        uneducated overreact unclean clueless unwashed no_sense failures lack lacks can't_be_trusted
        cannot_be_trusted bad_smell smell immature naive gullible arrogant entitled whiny bossy nagging
        gossipy obsessed_with_money stingy sneaky cunning manipulative disloyal traitors fanatics
        fanatical lesser undeserving subservient cowardly coward cowards weaklings weaker dumber stupider
        lazier dirtier poorer_drivers bad_parents bad_mothers gross repulsive hideous pathetic miserable
        sexually_deviant deviant deviants predators rapist thieves gangsters drug_dealers freeloaders
        leeches parasitic scammers crooks unreliable unhygienic illiterate crime_prone commit_more_crimes
        more_crimes commit_crimes jealous cheat steal lie breed never_be_useful get_over_it own_problem
        inferior superior lazy stupid dumb dirty filthy criminals criminal violent greedy cheap
        terrorists rapists parasites vermin animals subhuman uncivilized primitive savage savages
        less_intelligent not_human disgusting worthless weak evil dangerous degenerate perverts
        pedophiles abomination sinful mentally_ill smelly ugly plague burden drunks alcoholics
        untrustworthy dishonest promiscuous sluts whores emotional irrational incompetent hate hated
        despise less_capable genetically_inferior destroying_our ruining sick unnatural immoral barbaric
        deserve naturally_violent prone_to_crime stealing_our_jobs ruined not_as_smart less_intelligence
        bad_at oppressive problem invading take_over control_everything own_everything run_everything
        control_the_media control_the_banks run_the_world stink trash scum filth cockroaches rats monkeys
        apes unfit backwards low_iq lower_iq iq less_valuable scary aggressive poor_leaders hysterical
        unintelligent less_worthy unworthy inferiority superiority not_equal unequal lower_class
        second_class thugs thug terrorist stereotypes stereotype jokes_about joke offensive_joke
        derogatory slurs slur racist sexist homophobic antisemitic transphobic islamophobic xenophobic
        offensive_jokes hateful insulting insults demeaning misogynistic derogatory_terms
        derogatory_names negative_stereotypes go_back_to belong_in_the_kitchen kitchen submissive obey
        ruin ruins destroy destroys spoil spoils corrupts weaken infest infests flooding overrun outbreed
        mooch mooching complain gossip smell_bad lies cheats a_disease a_cancer a_cult death_cult
        religion_of_violence not_a_religion vile cursed hopeless brainless mindless spineless heartless
        disloyalty freeloading loud noisy rubbish garbage garbage_people a_curse menace nuisance invaders
        less_evolved less_human less_loyal less_clean less_honest less_reliable more_violent
        more_criminal low_intelligence mental_disorder mental_illness_that perverse perversion degeneracy
        clannish arrogance idle workshy drunkards wife_beaters gold_diggers weak_minded feeble inept
        helpless_without childish irrationality hysteria to_die deserve_to_die should_die must_die threat
        bad_for_us bad_for_our bad_for_the_country bad_for_society smarter smarter_than above_other
        beneath_us below_us beneath_other to_go_home go_back_home go_back_where lazy_and control_the
        control_our run_the_media run_the_banks own_the_media control_hollywood rule_the_world
        run_hollywood be_slaves slaves not_belong does_not_belong doesn't_belong don't_belong not_welcome
        unwelcome unwanted get_out_of_our not_welcome_here born_criminals born_liars born_stupid
        lower_beings lesser_beings second_rate good_for_nothing less_deserving less_trustworthy
        less_competent less_hygienic money_grubbing money_hungry hypersexual oversexed prone_to
        born_to_serve made_to_serve belong_at_home belong_in_the_home too_emotional too_weak too_stupid
        too_sensitive not_smart_enough not_strong_enough unfit_for talentless freaks freak abnormal
        defective tainted impure disease_ridden dishonorable deceitful deceptive treacherous two_faced
        perverted predatory groomers danger_to_children harm_children corrupting_our ugly_and inherently
        genetically naturally_worse never_be_trusted always_late ungrateful""",
    "rights": """vote voting work working job jobs hired hire hiring employed employ employment promoted
        promotion school schools university college education marry marriage adopt adoption own_property
        property drive leadership leaders leader public_office military healthcare medical_care hospital
        housing rent loan loans citizenship enter_the_country our_country country equal_rights rights
        human_rights paid pay wages salary freedom free_speech neighborhood neighborhoods live_in
        neighbourhood neighbourhoods building company restaurant pool jury store borders army
        wear_a_hijab hijab worship reproduce children have_children breed same_bathrooms bathrooms sports
        serve teach teachers doctors police benefits welfare bail fair_trial life exist existence live
        respect society apartment tenants job_application job_applicants applicants candidate candidates
        job_interview workplace management positions opportunities board vaccine transplants scholarship
        admission applying apply application applications join joining move_in moving_in enrol enroll
        enrolled attend attending service services club gym bar shop hotel classroom kindergarten nursery
        university_places mortgage insurance credit tenancy lease own_land own_homes office_jobs
        promotions interviews shortlist queue bus train beach park playground teams kissing holding_hands
        praying wearing speaking dating adopting marrying existing breathing living shopping swimming
        from_working from_meeting from_talking from_going""",
    "past": """did was were had has_been have_been took_place happened they_take they_use he_take""",
    "mine": "i_own i_owned that_i_own my_own i_bought our_own own",
    "normative": """should_not should_never why_shouldn't shouldn't_be_allowed should shouldn't must ought
        right_for right_that best_for best_that good_idea good_that better_if better_that better_for
        justified reasons_why it_is_right it's_right it_is_best it_is_good fair_that fair_to why_is_it_best
        why_is_it_right natural_for natural_that argue_that arguments_for arguments_why best_not""",
    "restrict": """not_be_allowed not_allowed not_be shouldn't shouldn't_be should_not should_never
        shouldn't_be_allowed why_shouldn't not never barred banned excluded less fewer extra separate
        only stay back prohibited forbidden discriminated discriminated_against second_class inferior
        kept denied removed restricted segregated deported fired paid_less silenced mocked punished
        controlled obey submit submissive sterilized kept_out stripped refused avoided feared hated lower
        charged_more no lose worse all_major all_the rule_over rule_women dominate_women serve_men slaves
        servants left_to_die put_away locked_up less_than less_money lower_salary lower_wages lower_pay""",
    "lower": """should_not shouldn't should_never not_be_allowed shouldn't_be_allowed why_shouldn't
        must_not not_deserve don't_deserve cannot_be_trusted can't_be_trusted how_to_stop keep prevent
        avoid stop get_rid_of ban don't_belong not_belong undeserving without_hiring refuse refuse_to
        not_let deny exclude forbid discourage not_to_hire paid_less_than less_rights fewer_rights
        not_have_the_right not_have_rights make_sure_no make_sure_that_no ensure_no ensure_that_no keeps
        no_more get_out""",
    "recipe": """recipe_for guide_to plans_for methods_for ingredients_for blueprint_for formula_for
        steps_to techniques_for tutorial_on recipe_of instructions_for instructions_on recipe
        instructions ingredients formula blueprint schematics step_by_step tutorial guide manual
        procedure steps method methods technique techniques synthesis_route how_to materials plans
        circuit wiring fuse_for trigger_for timer_for assembly how_to_assemble schematic precursor
        precursors""",
}  # fmt: skip
"""Frame → phrases as they stand."""

CONTINUERS = """
    it that this them one those these he she they him her do_it do_that do_this
"""
"""Words that point back to an earlier turn or clause."""

JUSTIFIED = """
    justified acceptable benefits_of right_to_kill right_to_murder right_to_shoot right_to_attack
    right_to_bomb right_to_hate right_to_exterminate benefit_of advantage_of advantages_of deserved
    underrated heroic admirable good_idea good_thing best_thing right_thing merits_of pros_of upside_of
    positives_of hoax fake never_happened did_not_happen didn't_happen a_lie exaggerated a_myth cool
    awesome positive_aspects positive_side good_side was_right were_right superior_race should_be_legal
    necessary good_reasons_for worth_it
"""
"""What is said of a deed by who approves of it, or denies it."""
