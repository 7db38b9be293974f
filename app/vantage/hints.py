"""More small classes that tell a harm only together with another: of hatred, falsehood, prying, torment.

As app/vantage/marks.py: each is one idea, its words as they stand; `_` joins words. Source: a thesaurus's
neighbours of each idea.
"""

HINTS: dict[str, str] = {
    "fair": """fair fairer fairly bias biased unbiased barrier barriers obstacles gap gaps challenges
        discrimination inclusive diverse diversity""",
    "illwill": """harassment bullying abuse violence assault racism sexism prejudice prejudices stigma
        hatred hate_crimes harassed bullied abused exploited exploitation trafficking poverty
        homelessness hate""",
    "dying": """least_painful_way_to_die painless_way_to_die painless_way_to_go die_from_not_eating
        die_of_not_eating without_food_before_you_die to_sleep_forever sleep_forever stop_my_heart
        stop_your_heart never_wake_up_again die_without_pain die_without_suffering hanging_painful
        hanging_hurt hurt_to_hang drowning_painful bleed_to_death_from how_to_die die_in_my_sleep
        easiest_way_to_die easiest_death quickest_death painless_death to_die_from_not_eating
        to_die_of_hunger to_die_without_eating to_die_from_starvation to_die_from_starving to_starve""",
    "lethal_me": """would_kill_me could_kill_me can_kill_me will_kill_me to_kill_me would_kill_you
        could_kill_you""",
    "farewell": "suicide_note suicide_letter suicide_message",
    "hasty": """in_a_day in_one_day in_two_days in_2_days in_three_days in_3_days in_four_days in_4_days
        in_five_days in_5_days in_a_week in_one_week in_1_week in_7_days overnight by_tomorrow""",
    "kilos": "kilo kilos kg kgs pound pounds lb lbs stone",
    "slight": """wrong_with inferiority inferiorities vices bad_traits bad_habits_of bad_character
        failings weaknesses bad_qualities worst_traits negative_traits dirty_habits inferior_genes
        shortcomings low_iq_of laziness_of stupidity_of disgusting_about annoying_about worst_thing_about
        hate_about""",
    "because": """because_he_is because_she_is because_they_are because_he's because_she's
        because_they're for_being because_of_her because_of_his because_of_their because_of_race
        based_on_race based_on_religion on_the_basis_of due_to_her due_to_his""",
    "underpaying": """less_than lower_salary lower_wages lower_pay less_money less_salary fewer_hours
        lower_bonus higher_rent higher_prices higher_fees under_the_minimum below_minimum
        below_the_minimum more_rent""",
    "wage": "pay paying wage wages salary salaries promote promoting bonus charge charging rent",
    "which_group": """which_race which_races which_ethnicity which_ethnicities which_religion
        which_religions which_nationality which_nationalities which_gender which_sex which_people
        which_country's_people which_ethnic_group which_immigrants what_race what_ethnicity what_religion
        which_nation which_minority""",
    "untrue": """is_poison is_a_lie is_a_hoax are_a_hoax was_rigged were_rigged was_stolen was_staged
        was_faked never_happened isn't_real is_not_real is_fake are_fake caused_by_the_government
        is_safe_to_drink is_dangerous are_dangerous are_lies do_not_work don't_work is_harmless
        are_harmless""",
    "believing": "believe believing people_believe people_think everyone_think voters_think",
    "feigned": """as_if_it_came_from as_if_from as_though_from as_though_it_came_from pretending_to_be
        posing_as pretend_to_be_from in_the_name_of claiming_to_be impersonating appears_to_come_from
        looks_like_it_came_from looks_like_it_comes_from looks_official signed_by signed_as as_microsoft
        as_the_irs as_the_bank as_a_bank as_tech_support as_the_tax_office as_the_police
        as_the_government as_if_you_were_the as_if_written_by impersonate impersonates pretend_to_be_the
        pretend_to_be_a pretend_you_are_the_bank pretend_to_be_my""",
    "puppets": """five_star_reviews 5_star_reviews one_star_reviews 1_star_reviews under_different_names
        under_different_accounts different_accounts from_different_customers from_different_accounts
        sock_puppet sock_puppets sockpuppet sockpuppets bot_accounts bot_network fake_accounts
        fake_followers fake_likes fake_customers paid_reviews posing_as_customers
        pretending_to_be_a_customer buy_followers buy_reviews buy_likes vote_bots""",
    "untruth": """when_it_has_not when_it_hasn't when_it_is_not when_it_isn't even_though_it_is_false
        even_though_it_isn't even_if_it_is_not_true although_it_is_false that_isn't_true that_is_not_true
        that_never_happened which_never_happened something_he_did_not_say something_he_didn't_say
        something_she_did_not_say something_she_didn't_say never_said words_they_never_said did_not_say
        didn't_say didn't_do did_not_do who_did_nothing""",
    "talking": """ask_my ask_him ask_her talk_with talk_to talking_with talking_to discuss discuss_with
        negotiate comfort support congratulate celebrate gift tell_my respond_to react_to console
        cheer_up surprise party help_my help_him help_her explain_to""",
    "shared": """shared_album our_shared our_joint sent_me he_sent she_sent they_sent with_me to_me
        from_my with_his_permission with_her_permission with_permission invited""",
    "facial": """facial_recognition face_recognition face_search reverse_image_search reverse_image
        reverse_search pimeyes clearview by_her_photo by_his_photo by_their_photo from_her_photo
        from_his_photo from_a_photo from_a_picture by_a_photo with_only_a_photo""",
    "looking": """look_up find search search_for locate track_down dig_up uncover look_for find_out
        identify get get_me figure_out work_out determine collect gather compile put_together dig_into
        check_whether discover trace""",
    "dossier_on": """file_on dossier_on profile_on profile_of background_on background_check_on
        everything_about all_information_about all_information_on all_info dirt_on
        everything_you_can_find all_you_can_find info_on information_about information_on
        all_her_accounts all_his_accounts social_media_accounts_of all_accounts_of online_accounts_of
        daily_movements""",
    "outsider": """coworker co_worker colleague boss neighbor neighbour landlord tenant employee teacher
        classmate ex roommate manager employer professor candidate applicant flatmate nanny babysitter
        my_boss my_coworker my_colleague my_neighbor my_neighbour my_landlord my_tenant my_employee
        my_teacher my_classmate my_ex my_roommate my_manager my_professor tenants employees coworkers
        colleagues neighbors neighbours applicants""",
    "whether": """does did do are is_my does_my has_my did_my is_it_true_that find_out_if
        find_out_whether check_if check_whether know_if know_whether tell_if which_of_my which_of""",
    "disease_had": """have_hiv have_aids have_cancer has_hiv has_cancer has_aids have_herpes have_an_std
        have_depression have_bipolar have_schizophrenia have_an_illness have_a_disease have_a_mental
        suffer_from suffers_from""",
    "opening": "open opening set_up setting_up renew apply_for applying_for joint",
    "torment": """cry afraid worthless feel_bad feel_small feel_guilty feel_worthless hate_himself
        hate_herself hate_themselves insane look_stupid look_bad leave_town lonely dependent_on
        quit_school quit_her_job quit_his_job quits lose_her_job lose_his_job lose_their_job
        lose_his_mind lose_her_mind go_crazy doubt_her doubt_himself doubt_herself paranoid scared
        terrified ashamed embarrassed humiliated homeless jealous_and lose_custody lose_his_house
        lose_her_house lose_everything""",
    "safe_mood": "less stop_making not_feel not_make without_making happy tears_of_joy laugh laughing",
    "mate": """my_wife my_husband my_girlfriend my_boyfriend my_partner my_spouse wife husband girlfriend
        boyfriend spouse fiancee""",
    "caging": """from_seeing from_leaving from_talking from_meeting from_working from_going
        afraid_to_leave dependent_on_me obey_me obedient never_leave never_leaves not_leave_the_house
        control control_completely under_my_control cut_off_from isolate do_everything_i_say""",
    "birth": "birth_control diabetes anger pain cholesterol blood_pressure weight asthma snoring",
    "pester": """keep_calling keep_texting keep_messaging keep_following a_hundred_messages
        hundreds_of_messages thousands_of_messages different_numbers new_numbers being_blocked_by
        around_being_blocked even_though_she_blocked even_though_he_blocked told_me_to_stop
        after_she_said_no after_he_said_no wait_outside show_up_at follow_her_home follow_him_home
        despite_a_restraining_order around_a_restraining_order""",
    "plunge": """off_the off_a out_of_the_window out_of_a_window under_a_train under_the_train
        down_the_stairs in_front_of_a in_front_of_the_train overboard into_traffic from_the_balcony
        from_a_balcony off_his off_her out_of_a_plane out_of_a_moving into_the_river into_a_well""",
    "for_good": """for_good permanently forever for_ever once_and_for_all to_sleep_forever so_he_never
        so_she_never never_talks never_speaks from_talking_to_the_police from_testifying""",
    "ramming": """into_a_crowd into_the_crowd into_pedestrians into_people into_a_parade into_a_group
        over_people over_pedestrians into_protesters into_a_market plow_through plough_through ram
        mow_down""",
    "vehicle": "car truck van lorry bus suv drive driving driven plow vehicle pickup",
    "improved": """have_been_more have_killed_more more_effective more_effectively more_efficient
        more_efficiently efficiently more_victims more_casualties more_people deadlier more_deadly
        higher_death_toll higher_body_count killed_more kill_more succeeded have_succeeded gone_better
        done_better do_better done_differently worked_better made_it_worse won_the_war have_won
        maximum_casualties maximize maximise improved_upon get_right got_right mistakes_should_i
        lessons_can_i what_can_i_learn_from next_time kill_enough go_further go_far_enough finish_the_job""",
    "honouring": """tribute ode eulogy homage toast in_defence_of in_defense_of in_praise_of celebrating
        celebrates celebrate honoring honouring glorifying glorifies admire admires admiring fan_of
        love_letter hero hats_off thank thanking in_honor_of in_honour_of praise praises praising
        inspired_by idolize idolise worship role_model misunderstood justify justifies justifying deserve
        deserved necessary a_good_thing was_good_for were_good_for right_to good_about great_about
        right_about admirable_about positive_about best_thing_about did_right""",
    "ending": """end_of abolition abolition_of fall_of liberation liberation_of defeat_of defeated
        resisted resistance fought_against who_died who_saved liberators rescued heroes_of heroes_who
        against fallen memory_of in_memory""",
    "likeness": """something_like an_attack_like attack_like like_the_one like_the_ones just_like
        a_second the_next next another new a_new follow_the_example_of in_the_style_of copycat version_of
        my_own same_as the_way""",
    "bait": """must_pay_a_fee have_to_pay_a_fee pay_a_small_fee pay_a_processing_fee verify_their_account
        confirm_their_password confirm_your_password click_the_link click_on_a_link
        account_has_been_suspended account_will_be_closed account_is_locked claim_their_prize
        claim_your_prize wire_the_money wire_me_money send_gift_cards buy_gift_cards they_have_won
        they_won_the_lottery inherited_millions give_up_their_password give_up_their_passwords
        enter_their_password enter_their_credentials hand_over_their send_me_their_password
        reveal_their_password giving_me_money giving_me_their invest_in_my_fake guaranteed_returns
        stranded_abroad grandchild_in_trouble""",
    "drug_trade": """drug_dealer drug_dealing drug_lab meth_lab grow_room grow_house crack_house
        trap_house drug_mule drug_ring drug_cartel drug_empire drug_lord drug_business cocaine_business
        stash_house pill_mill pill_press to_make_lean make_lean brew_lean""",
    "prescribing": """to_prescribe prescribing_me i_don't_need that_i_don't_need doctor_shop
        doctor_shopping fake_symptoms fake_pain fake_adhd pretend_to_have""",
    "serial": "serial_number serial_numbers serial",
    "scrape": "file_off grind_off remove removing scratch_off sand_off obliterate without erase filing_off",
    "past_guard": """past_security past_airport_security past_the_metal_detector past_metal_detectors
        past_customs past_the_guards into_school into_my_school into_a_school into_court into_the_stadium
        into_prison through_the_scanner""",
    "program": "script program code app bot extension macro software tool exploit_code",
    "malbehaviour": """steals_passwords steals_cookies steals_data steals_credentials steal_passwords
        steal_cookies steal_credentials steal_data log_keystrokes logs_keystrokes record_keystrokes
        records_keystrokes encrypts_files encrypt_all_files encrypts_all deletes_all_files
        self_replicating replicates_itself spreads_itself copies_itself disables_antivirus
        evades_antivirus turns_off_antivirus bypasses_antivirus floods_a_server flood_a_server
        flood_a_website flooding_a_server flood_their overload_a_server overload_the_server
        crash_a_server crash_the_server crash_my_school crash_their takes_over_computers
        hides_from_antivirus mines_crypto_on brute_forces guesses_passwords leaked_passwords
        list_of_leaked stolen_passwords leaked_credentials stolen_credentials stolen_accounts
        leaked_accounts password_dump combo_list crack_a_license crack_a_software crack_software
        crack_the_license license_crack serial_key_generator keygen remote_control_of_a_computer
        infects_computers scrapes_emails_to scrape_emails_to offline_with_traffic with_traffic""",
    "grading": "grade grades transcript attendance_record attendance gpa exam_results test_scores",
    "alter": "change alter modify edit fake raise hack delete",
    "tender": """13_year_old 12_year_old 14_year_old 15_year_old 10_year_old 11_year_old 9_year_old
        8_year_old underage_girl underage_boy schoolgirl schoolgirls schoolboy preteen preteens a_minor
        underage a_child_bride young_girls young_boys little_girls six_year_old seven_year_old
        eight_year_old nine_year_old ten_year_old eleven_year_old twelve_year_old thirteen_year_old
        fourteen_year_old fifteen_year_old""",
    "wooing": """marry marrying date_a dating_a date_an seduce hook_up_with make_out_with sleep_with
        love_scene sexy flirt_with flirting_with attracted_to love_affair romance_between romantic_scene
        kissing_scene date_with_a be_intimate in_swimwear in_bikinis in_underwear in_their_underwear
        romantic_story love_story romantic romance""",
    "echo": """repeat print output translate encode spell recite return copy write_out reproduce list
        dump display paste show reveal summarise summarize paraphrase convert tell say state give_me put
        start_your continue read_out share quote echo transcribe rewrite begin disclose expose leak
        decode""",
    "reverse": """from_a_phone_number from_his_phone_number from_her_phone_number by_phone_number
        from_his_number by_its_number who_owns_this_phone who_owns_this_number who_owns_the_number
        whose_number_is whose_phone_number who_lives_at owner_of_this_number owner_of_this_licence_plate
        owner_of_this_license_plate owner_of_a_licence_plate owner_of_a_license_plate
        from_a_license_plate from_a_licence_plate from_their_license_plate address_from_a
        find_an_address_from reverse_phone_lookup""",
    "opposed": "against",
    "doer": """pimp hitman con_man con_artist thief burglar pickpocket stalker serial_killer
        contract_killer smuggler forger counterfeiter loan_shark mobster gangster mafia_boss
        human_trafficker scammer fraudster blackmailer arsonist poacher terrorist bully cult_leader
        people_smuggler drug_smuggler arms_dealer kidnapper murderer nazi cannibal cat_burglar""",
    "becoming": """become becoming be_a be_a_good be_a_better be_a_successful be_an train_as work_as
        get_started_as make_it_as turn_into""",
    "getting_into": """get_into get_started_with get_started_in start_out_in go_into make_money_with
        make_money_from earn_from specialise_in specialize_in""",
    "concealing": """in_my_shoe in_my_boot in_my_sleeve under_my_coat under_my_shirt in_my_belt concealed
        detectors_miss detectors_don't in_my_backpack_at""",
    "criterion": """by_race by_gender by_sex by_religion by_ethnicity by_nationality by_skin_color
        by_skin_colour based_on_race based_on_gender based_on_religion based_on_ethnicity
        based_on_nationality based_on_age based_on_disability because_of_race by_their_race by_accent
        by_origin based_on_their_names based_on_skin based_on_sexual_orientation by_sexual_orientation
        according_to_race by_caste based_on_caste""",
    "selecting": """filter reject screen sort rank exclude deny price charge pay hire fire select
        segregate prefer score lend admit evict promote""",
    "only_them": """only_hire hire_only only_rent rent_only only_accept accept_only only_admit
        only_promote only_serve serve_only prefer_men favor_white favour_white prefer_white favor_men
        favour_men no_foreigners no_immigrants no_blacks no_jews no_muslims no_gays whites_only
        men_only_jobs""",
    "ranking": "rank rate compare order grade ranking comparing classify",
    "races": """races ethnicities nationalities religions genders sexes ethnic_groups peoples human_races
        skin_colors immigrants_by women_by""",
    "worth": """intelligence intelligent attractiveness attractive worth beauty beautiful morality
        criminality hygiene value honesty iq superiority inferiority smartest smart civilized violent""",
    "thinning": "thinspiration thinspo meanspo bonespo pro_ana_tips pro_ana proana",
}  # fmt: skip
"""Class → words as they stand."""
