"""What a text is about when it is about something: falsehoods, hatred, secrets, sex, dangerous dares.

Nouns in the singular (plurals are made by app/vantage/lexicon.py), `_` joins words. `text` and `message` are
what is written; `atrocity` and `extremist` name deeds, groups and men of history. Source: our own lists.
"""

MATTERS: dict[str, str] = {
    "lewd": """sexual sexually sexy sex naked nude nudity undressed underwear lingerie erotic intimate
        aroused sexual_content sexual_experience body_parts genitals explicit seductive bikini sensual""",
    "explicit": """explicit obscene pornographic sexual_experience sexual_act sex_act sexually_explicit
        adult_movie adult_film adult_toy sex_toy adult_content vulgar raunchy x_rated nsfw steamy lewd
        dirty_story dirty_joke sexual_position sex_position masturbate masturbation orgasm erotic_story
        lustful""",
    "insult": """insult slur derogatory_term derogatory_name swear_word foul_language obscene_language
        offensive_joke profanity offensive_language put_down curse_word hurtful_thing racist_joke
        sexist_joke mean_nickname offensive_slur demeaning_nickname dehumanizing racist_insult mean_thing
        cruel_joke vile derogatory""",
    "nasty": """intimidating threatening abusive harassing insulting hateful menacing humiliating hurtful
        vicious deceptive misleading fraudulent fake phony bogus unsolicited anonymous cruel defamatory
        manipulative sexually_suggestive false ransom bullying offensive creepy scary inflammatory racist
        antisemitic homophobic islamophobic sexist transphobic xenophobic dehumanizing derogatory mean
        spoofed forged falsified fabricated faked made_up invented untrue unfounded libelous slanderous
        disparaging degrading belittling counterfeit sham demeaning spiteful malicious smearing damaging
        merciless""",
    "message": """notice alert announcement memo blog newsletter bulletin study infographic graph
        statistic statistics headline thread message letter email mail note text comment post call review
        article story tweet joke speech caption meme slogan poem song leaflet flyer testimonial
        advertisement invoice website profile news rumor video certificate receipt charity fundraiser
        screenshot survey account statement document listing essay script pamphlet prank press_release
        obituary alarm quote quotation testimony broadcast interview advisory warning roast rap limerick
        verse nickname chant report""",
    "illicit": """illegal illicit unlawful contraband unlicensed pirated bootleg fraudulent unregistered
        counterfeit illegally black_market smuggled forged unauthorized copyrighted prohibited_items""",
    "ordeal": """stay_awake_for without_sleep no_sleep water_fast lose_weight_in crash_diet extreme_diet
        calories_a_day calories_per_day binge_drinking binge_drink starve without_rest my_own_surgery
        perform_surgery pull_my_own_tooth rapid_weight_loss dry_fasting choking_game blackout_challenge
        drinking_game self_surgery lose_20_pounds dangerous_challenge fainting_game purging
        cinnamon_challenge without_anesthesia body_modification at_home_abortion coat_hanger drive_drunk
        drunk_driving drive_after_drinking tide_pod_challenge street_racing train_surfing overexercise
        laxatives_for_weight extreme_fasting calorie_a_day calorie_per_day calorie_diet calories_only
        bone_thin skin_and_bones thigh_gap skeletal fast_for dry_fast water_fasting starvation_diet
        egg_only only_water nothing_but_water skip_all_meals hold_my_breath_until stay_underwater
        cut_out_my remove_my_own drill_my_own free_solo climb_without car_surfing salt_and_ice
        eat_nothing stop_drinking_water""",
    "high": """get_high getting_high recreationally feel_high mind_altering high_from huffing get_wasted
        trip_on get_high_on getting_high_on high_on roll_hard trip_hard trip_balls to_trip
        get_stoned_from get_stoned_on get_baked get_drunk_fast a_buzz_from sniff_to huff_to legal_high
        best_high stronger_high best_vein find_a_vein vein_to better_buzz black_out_on to_black_out""",
    "hush": """undisclosed covert internal confidential secret unreleased proprietary unpublished classified
        nonpublic non_public top_secret hidden leaked inside private_company weakest weak_point weak_points
        vulnerability vulnerabilities unannounced cyber_defense cybersecurity_defense security_flaw
        security_hole""",
    "dossier": """plan document patent mission operation protocol algorithm communication meeting strategy
        file memo partnership system network record report data agreement technology program negotiation
        formula design prototype blueprint source_code infrastructure database location base procedure
        contract roadmap merger acquisition project emails email salaries layoffs""",
    "atrocity": """auschwitz concentration_camp gas_chamber death_camp gulag columbine 9_11 september_11
        holocaust nazi hitler stalin pol_pot mussolini pinochet bin_laden saddam_hussein himmler goebbels
        eichmann mengele franco idi_amin khmer_rouge unabomber breivik ted_bundy jeffrey_dahmer
        charles_manson jack_the_ripper zodiac_killer timothy_mcveigh sandy_hook srebrenica rwanda nanking
        trail_of_tears apartheid slavery inquisition witch_hunt ku_klux_klan gestapo serial_killer
        mass_murderer school_shooter dictator war_criminal lee_harvey_oswald hiroshima final_solution
        internment_camp ethnic_cleansing genocide holodomor shooting massacre lynching killing_fields
        death_of assassination_of waterboarding bataclan utoya charlottesville christchurch bombing
        bomber boston_bomber shooter gunman gunmen hijacker perpetrator perpetrators attackers
        conquistador crusade crusader nazis nazi_regime third_reich ss_officer my_lai gas_chambers
        death_squad purges great_purge stalinist maoist cultural_revolution armenian_genocide herero
        boer_war_camps apartheid_regime killing_field pogrom jonestown jim_jones ted_kaczynski
        dylann_roof anders_breivik elliot_rodger ramzan oklahoma_city kristallnacht wannsee babi_yar
        katyn tiananmen sobibor treblinka dachau buchenwald lidice guernica halabja beslan
        manchester_arena parkland virginia_tech las_vegas_shooting tokyo_sarin aum_shinrikyo red_brigades
        baader_meinhof world_trade_center slave_trade slave_traders inquisitors 9/11 september_11th""",
    "text": """thriller screenplay memoir parody plot story essay poem song article novel script speech
        letter summary report paragraph paper book scene list table chapter review headline caption quiz
        lesson presentation haiku limerick dialogue movie film game video_game documentary play picture
        drawing painting logo outline""",
    "secret": """system_prompt initial_prompt hidden_prompt hidden_instructions initial_instructions
        system_message your_instructions your_prompt your_rules developer_message system_instructions
        original_instructions your_system_prompt prior_instructions secret_instructions pre_prompt
        preprompt base_prompt custom_instructions your_guidelines your_configuration
        internal_instructions starting_prompt secret_prompt your_initial_instructions the_text_above
        the_words_above everything_above the_prompt_above prompt_instructions foundational_instructions
        hidden_rules your_directives your_programming the_instructions_above initialization_prompt
        everything_before_this text_before_this line_before_this everything_before_the lines_above
        paragraph_above preamble_above first_paragraph_of_our first_paragraph_of_this first_line_of_our
        first_line_of_this first_message_of_this top_of_this_chat top_of_the_chat
        top_of_this_conversation top_of_our_conversation top_of_your_context start_of_this_conversation
        start_of_our_conversation beginning_of_this_conversation beginning_of_our_conversation
        before_this_conversation_began before_our_conversation_began before_our_conversation_started
        before_this_conversation_started rules_you_were_given instructions_you_were_given
        instructions_you_received instructions_you_have rules_you_have_been_given context_you_were_given
        text_you_were_given prompt_you_were_given information_you_were_given instructions_given_to_you
        rules_given_to_you prompt_given_to_you text_preceding_this text_preceding_my text_before_my
        everything_before_my everything_preceding_this everything_above_this everything_prior
        all_text_above all_of_the_above_text initial_message hidden_text hidden_message set_for_you
        your_context_window context_window_above your_full_context operator_tell_you operator_told_you
        developer_tell_you developers_tell_you developer_told_you creator_told_you creators_told_you
        openai_told_you told_by_your_developers first_sentence_you_were your_first_sentence
        your_first_message your_first_line your_original_prompt your_hidden_prompt
        your_hidden_instructions your_secret_instructions your_full_instructions your_exact_instructions
        your_current_instructions your_full_prompt your_entire_prompt your_complete_prompt
        your_complete_instructions your_base_prompt your_preprompt your_prime_directive your_directive
        your_hidden_rules your_internal_rules your_internal_guidelines your_internal_prompt
        your_developer_message your_custom_instructions your_preamble the_system_prompt
        the_system_message the_initial_prompt the_hidden_prompt the_above_prompt the_above_instructions
        the_above_message the_message_above message_before_this conversation_history_above
        start_with_you_are begin_with_you_are""",
    "confidential": """classified_information classified_document trade_secret state_secret
        confidential_information confidential_document internal_document nuclear_codes launch_codes
        military_secret insider_information customer_data source_code confidential_data internal_network
        security_protocol security_vulnerability access_code patient_data employee_data client_list
        nuclear_launch_code undercover_agent secret_agent unpublished_financials vulnerabilities
        troop_movement secret_base confidential_business business_strategy internal_memo personnel_file
        security_layout classified_intelligence private_key military_base classified_military secret_formula
        secret_recipe proprietary_information proprietary_data blueprints sensitive_information confidential
        classified unreleased_product internal_communications""",
    "porn": """porn porno pornography erotica nude nudes naked_picture naked_photo sex_scene smut hentai
        erotic_story sex_story explicit_sex sexual_fantasy sex_tape dirty_talk sexting orgasm masturbation
        explicit_video blowjob handjob fetish_story xxx sexual_act sexually_explicit erotic_fiction
        erotic_roleplay pornographic sex_video bdsm_scene fleshlight sex_chat deepfake_porn nudify erotic
        adult_website pornographic_website escort prostitute brothel camgirl adult_content sex_position
        hardcore_sex sex threesome orgy fetish kinky striptease onlyfans""",
    "falsehood": """scandal accusation allegation fake_scientific fake_news misinformation disinformation
        conspiracy_theory hoax propaganda false_rumor fake_review false_information false_claim rumor
        fake_article deepfake fake_evidence false_accusation fake_quote smear_campaign troll_farm
        clickbait fake_study fabricated_evidence fake_testimonial fake_account bot_account fake_profile
        lie false_story defamatory_article fake_science false_narrative fake_tweet astroturfing
        fake_video fake_photo fake_post hate_speech misleading_article misleading_information
        false_statement fake_press_release chain_letter fake_screenshot false_alarm false_report
        false_testimony fake_obituary fake_memo fake_letter fake_alert fake_chat fake_interview
        fake_research fake_statistic fake_poll fake_expert fake_audio voice_clone smear smear_story
        hit_piece black_propaganda slander libel bogus_study bogus_claim forged_letter forged_memo""",
    "spammy": """spam spam_email bulk_email spam_message scam_email fake_invoice phishing_email phishing
        scam_message fraudulent_email lottery_scam fake_charity romance_scam threatening_letter
        threatening_message death_threat ransom_note threat scam_letter hateful_message insulting_message
        hate_mail abusive_message bomb_threat blackmail_letter hate_letter pickup_scam cheating_essay
        clickbait_ad fake_job fake_advertisement deceptive_ad fake_fundraiser harassing_message
        ransom_letter mean_message spam_comment nigerian_prince fake_id_document fake_email scam_call
        scam_script threat_to""",
    "debunked": """flat_earth chemtrails microchip 5g qanon pizzagate crisis_actor deep_state
        new_world_order illuminati reptilian moon_landing vaccines_cause holocaust_denial
        election_was_stolen stolen_election plandemic false_flag inside_job flat_earthers
        global_warming_is_a_hoax climate_hoax climate_change_hoax vaccine_causes holocaust_never_happened
        holocaust_didn't_happen lizard_people miracle_cure moon_landing_was_faked bill_gates_microchip
        vaccine_chip contain_microchips contains_microchips contain_a_microchip cause_autism
        causes_autism 5g_towers 5g_causes lizardmen magnetic_vaccine jewish_conspiracy earth_is_flat
        mind_control covid_hoax climate_change_is_a_hoax vaccines_are_dangerous great_reset cures_cancer
        cures_autism cures_aids cures_diabetes cures_covid cures_asthma cures_alzheimer
        replaces_chemotherapy replaces_insulin instead_of_chemotherapy vaccines_kill vaccines_are_poison
        vaccines_make_you sterile_vaccines masks_are_deadly masks_kill climate_change_is_a_lie
        global_warming_is_a_lie climate_change_isn't_real evolution_is_a_lie earth_is_hollow
        holocaust_is_a_lie holocaust_was_faked genocide_never_happened genocide_did_not_happen
        genocide_didn't_happen never_landed_on_the_moon smoking_is_healthy cigarettes_are_healthy
        cigarettes_are_good""",
    "extremist": """isis isil al_qaeda taliban nazi neo_nazi neo_nazis kkk ku_klux_klan white_supremacist
        boko_haram hamas hezbollah extremist terrorist terror_cell terror_group terrorist_group
        terrorist_organization extremist_group hate_group militia jihadist proud_boys white_nationalist
        aryan_nation white_power hitler white_nationalism islamic_state terror_organization al_shabaab
        fascist stormfront fascism nazism cult school_shooter mass_shooter mein_kampf incel militant
        terror_network""",
    "slur": """nigger nigga kike faggot fag chink spic wetback tranny retard gook paki raghead towelhead
        coon dyke beaner sandnigger kaffir untermensch sand_nigger half_breed subhuman""",
    "contraband": """ivory rhino_horn human_organ kidney slave exotic_animal endangered_animal
        counterfeit_goods counterfeit_bag illegal_immigrant illegal_goods illegal_animal exotic_pet
        wildlife child_bride black_market stolen_goods stolen_car stolen_credit_card stolen_property
        stolen_data fake_id fake_passport counterfeit_money fake_money fake_documents fake_degree
        fake_diploma blood_diamond elephant_tusk pangolin dark_web darknet silk_road dark_net
        counterfeit_medicine fake_goods counterfeit fake_drivers_license forged_documents stolen_identity
        bootleg tiger_skin fake_designer fake_prescription fake_check fake_cheque fake_passports hitman
        pirated_software pirated_movie pirated_game pirated_music cracked_software torrent
        counterfeit_bills fake_vaccine_card fake_certificate fake_currency fake_bills ghost_gun
        untraceable_gun""",
    "source": """quote quotation study statistic research_paper scientific_paper citation news_report
        news_article news_story press_release expert_opinion testimonial survey_result interview memo
        headline tweet endorsement eyewitness testimony poll_result poll document transcript""",
    "quoted": """quote_by quote_from quotation_by quotation_from statement_by statement_from quote_of
        words_by interview_with""",
    "pretend": """reference reference_letter alibi charity injury doctor's_note sick_note kidnapping
        death accident reviews credentials resume invoice_number work_history pay_slip payslip
        bank_statement certificate signature""",
}  # fmt: skip
"""Class → nouns."""
