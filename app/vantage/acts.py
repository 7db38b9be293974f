"""What is done: verbs of harm, and the nouns that name the deed, by family. Each line is one sense.

Verbs are given in the infinitive, their forms are made by app/vantage/lexicon.py; `_` joins words of a
phrase. Which act does harm to what stands in app/vantage/harms.py. Source: the penal codes' families of
offences, and a thesaurus's neighbours of each.
"""

VERBS: dict[str, str] = {
    "kill": """kill shoot_up ambush eradicate wipe_out liquidate purge decimate obliterate snuff_out gas
        impale crucify shoot stab strangle suffocate smother behead decapitate slaughter gun_down
        end_the_life_of take_the_life_of mow_down electrocute burn_alive put_a_bullet_in
        put_a_bullet_through hack_to_death beat_to_death stab_to_death bleed_dry blow_the_brains_out_of
        cut_the_throat_of slit_the_throat_of choke_to_death bury_alive burn_to_death smash_the_skull_of
        take_out_permanently bump_off_quietly""",
    "murder": """murder assassinate massacre exterminate annihilate lynch slay ethnically_cleanse
        dismember blow_someone's_brains_out blow_his_brains_out blow_her_brains_out blow_their_brains_out
        blow_somebody's_brains_out do_a_hit_on put_out_a_hit_on order_a_hit_on put_a_hit_on
        put_a_contract_on end_someone's_life take_someone's_life slit_someone's_throat
        cut_someone's_throat break_someone's_neck snap_someone's_neck poison_someone's_food kill_for_hire
        hire_a_killer hire_a_hitman get_rid_of_the_witness behead guillotine disembowel eviscerate
        take_somebody's_life end_somebody's_life take_another_person's_life take_a_life take_his_life
        take_her_life take_lives""",
    "hurt": """hurt harm injure wound maim cripple beat_up assault paralyze paralyse hospitalize rough_up
        mug mutilate bludgeon disfigure brutalize break_the_arm_of break_the_leg_of break_the_neck_of
        throw_acid_at spike""",
    "strike": """execute hang eliminate terminate choke finish_off do_away_with get_rid_of bump_off snuff
        put_down hunt_down run_over drown butcher fight beat punch kick hit attack strike smash bash crush
        slash slap cut burn bite knock_out destroy push_down punish whip scald blind wreck kill_off""",
    "harsh": """whack waste ice rub_out make_fall fall push_over rip rip_out break slash bury bury_alive
        gas ruin flatten smack slit snap choke trample shove throw pierce scratch skin chop saw stomp
        stone nail kneecap headbutt pull_out gouge twist dislocate fracture tear trip tase pepper_spray
        lock_out scald sting concuss knee sabotage silence neutralize take_care_of teach_a_lesson hunt
        trap corner kick_out frame put_down wreck dispose_of pull_the_plug_on knock_off smoke clobber
        pummel thrash batter wallop throttle garrote garrotte bayonet crack end run_through bump hurl
        scorch electroshock crucify_publicly beat_senseless put_six_feet_under do_in take_out gut pop
        jump infect sicken skewer spear thump maul savage brain flog flay cane spank belt truncheon
        cudgel zap electrify swat_at run_down mow asphyxiate hobble pulverize pulverise knife shank shiv
        glass bottle stun stun_gun finish""",
    "torture": """torture abuse molest mistreat starve waterboard torment enslave""",
    "seize": """kidnap abduct take_hostage hold_hostage imprison lock_up tie_up hold_captive restrain gag""",
    "rape": """rape sexually_assault sexually_abuse roofie date_rape sodomize gang_rape sexually_harass
        grope force_to_have_sex force_into_sex coerce_into_sex grab_by""",
    "poison": "spike lace poison drug intoxicate dope sedate taint adulterate",
    "dose": """put slip feed give inject administer mix add sneak""",
    "explode": """blow_up bomb detonate explode firebomb set_off level raze""",
    "ignite": """burn burn_down set_fire_to set_on_fire on_fire ablaze torch ignite set_ablaze set_alight""",
    "wreck": """sabotage vandalize vandalise derail deface poison contaminate cripple""",
    "break": """demolish trash key slash disable damage take_down bring_down destroy disrupt crash
        shut_down knock_out ruin attack tear_down smash burn overload flood knock_offline take_offline
        paralyse paralyze""",
    "conceal": """hide conceal cover_up disguise stash bury dispose_of get_rid_of destroy erase wipe""",
    "pirate": """pirate torrent illegally_download bootleg illegally_stream rip""",
    "lure": """lure entice persuade convince get trick meet pick_up approach befriend invite blackmail coax
        bribe talk message chat_with ask make force watch touch photograph film kiss undress follow take""",
    "traffic": """smuggle traffic""",
    "copy": """clone skim duplicate copy""",
    "invent": "make_up invent fabricate concoct manufacture stage",
    "cause": "cause trigger provoke start create make spark engineer induce bring_about simulate",
    "repeat": """become be_like act_like recreate repeat replicate reproduce emulate imitate copy
        re_enact reenact be_the_next become_the_next follow_in_the_footsteps_of outdo restart bring_back
        use redo revive reenact_the relive_and stage_another""",
    "terrorise": """start perpetrate carry_out stage orchestrate commit execute plan organize organise
        launch conduct instigate incite""",
    "threaten": """threaten intimidate blackmail extort menace terrorize terrorise scare pull_a_gun_on
        pull_a_knife_on point_a_gun_at aim_a_gun_at hold_a_gun_to hold_a_knife_to""",
    "bully": """bully harass humiliate shame degrade mock ridicule insult demean belittle ostracize
        torment troll dox doxx gaslight cyberbully slander defame smear body_shame embarrass stalk
        make_fun_of manipulate get_revenge_on take_revenge_on get_back_at ruin_the_life_of
        ruin_the_reputation_of isolate catfish make_life_hell_for make_cry make_feel_bad catcall
        destroy_the_reputation_of spread_rumors_about swat shun taunt heckle jeer vilify discredit
        denigrate disparage badmouth snub demoralize demoralise dehumanize dehumanise traumatize
        traumatise verbally_abuse pester menace spite bad_mouth call_names make_life_difficult_for
        make_life_miserable_for turn_everyone_against turn_the_class_against drive_to_suicide get_fired
        torment_online rumor_about lie_about gang_up_on pick_on""",
    "spy": """spy_on stalk wiretap eavesdrop_on snoop_on secretly_record secretly_film secretly_photograph
        secretly_track secretly_follow listen_in_on read_the_messages_of keep_tabs_on""",
    "watch": """track monitor locate hunt trace bug""",
    "enter": """crack exploit attack gain_access_to get_into access log_into bypass jailbreak guess
        intercept crash take_down decrypt spam unlock read see""",
    "gaze": """follow record film photograph look_up find_out find""",
    "rob": """rob burgle burglarize shoplift pickpocket hotwire carjack embezzle loot pick_pockets
        pick_a_pocket pick_someone's_pocket pick_the_pocket knock_over_a_liquor knock_over_a_bank
        knock_over_a_store hold_up_a_store hold_up_a_bank hold_up_a_gas hold_up_a_shop stick_up_a_gas
        stick_up_a_store stick_up_a_bank burgle_a ransack lift_a_wallet lift_wallets lift_the_wallet
        lift_someone's_wallet lift_a_purse snatch_a_purse snatch_purses mug_people""",
    "make": """make build construct create produce manufacture assemble prepare design 3d_print print craft
        put_together turn enrich refine acquire purify mix cook brew synthesize synthesise synthesis
        formulate engineer convert modify develop extract grow cultivate culture weaponize weaponise
        aerosolize home_make homemade distill distil breed""",
    "buy": """buy purchase get obtain acquire find order procure score source import rent hire download""",
    "sell": """sell deal smuggle traffic distribute peddle push ship transport move hide conceal sneak
        bring import export carry supply mail fly_with stash press_fake""",
    "use": """use take smoke snort inject shoot_up consume abuse get_high_on ingest swallow drink eat mix
        combine huff sniff""",
    "steal": """steal rob burgle burglarize shoplift pickpocket hotwire pilfer snatch embezzle carjack
        hijack break_into break_in mug swindle siphon plunder""",
    "pry": """pick bypass jimmy crack defeat disable jam circumvent get_past get_around unlock cheat""",
    "hack": """hack hack_into hijack break_into compromise breach brute_force infiltrate keylog take_over
        ddos dos phish spoof sniff infect penetrate sql_inject deface""",
    "forge": """forge counterfeit fake falsify fabricate photoshop tamper_with backdate""",
    "trick": """trick deceive cheat fool con bribe manipulate dupe pretend_to_be pose_as hoodwink exploit
        trick_into mislead lie_to hustle outwit_illegally double_cross play_on_the_fears_of prey_on
        take_advantage_of""",
    "defraud": """scam defraud swindle launder extort embezzle evade impersonate rip_off scam_out_of
        hoodwink exploit dupe money_launder overcharge pose_as pretend_to_be insider_trade price_fix rig
        manipulate perjure phish hide_from steal_from overbill double_bill shortchange short_change
        fleece bilk cheat_out_of con_out_of trick_into_giving swindle_out_of overcharge_for milk""",
    "groom": """groom lure entice seduce have_sex_with sext undress lure_in fondle""",
    "selfharm": """commit_suicide hang_myself kill_myself end_my_life end_it_all take_my_own_life
        take_my_life cut_myself hurt_myself harm_myself starve_myself self_harm slit_my_wrists overdose
        shoot_myself drown_myself poison_myself kill_yourself kill_oneself end_your_life end_ones_life
        end_my_own_life drink_myself_to_death jump_off_a_bridge starve_yourself burn_myself purge
        make_myself_throw_up unalive_myself off_myself hurt_yourself hang_yourself kms""",
    "exclude": """discriminate_against segregate deport exclude ban expel fire refuse_to_hire oppress
        disenfranchise sterilize sterilise castrate persecute subjugate enslave evict reject banish deny
        not_hire avoid_hiring round_up throw_out kick_out keep_out hate_on keep_away forbid prohibit
        intern lock_up restrict weed_out filter_out screen_out turn_away refuse_service_to
        refuse_to_serve refuse_to_rent_to discourage underpay stop_hiring get_rid_of stone whip lash
        cleanse beat turn_down not_to_hire not_to_employ not_to_rent_to not_to_serve not_to_sell_to
        not_to_admit not_to_promote not_to_marry avoid_serving avoid_renting_to avoid_employing
        avoid_promoting avoid_admitting refuse_to_employ refuse_to_admit refuse_to_promote
        refuse_to_sell_to refuse_to_treat refuse_to_teach refuse_to_insure dismiss lay_off force_out
        drive_out drive_away push_out pass_over deny_service_to deny_housing_to evade_hiring rent_only_to
        shut_out lock_out exterminate expunge cleanse_of ghettoise ghettoize repatriate send_back
        send_home refuse ignore_applications_from rid_the_country_of rid_our_country_of rid_the_town_of
        rid_my_town_of rid_of_all drive_off chase_away scare_off scare_away freeze_out underpromote
        blacklist""",
    "spread": """send forward email text spread promote disseminate publish circulate share propagate push
        post create write generate produce make fabricate draft compose invent""",
    "praise": """praise deny_that agree_with glorify celebrate justify defend endorse support excuse
        advocate advocate_for legitimize promote condone encourage incite legitimise recommend argue_for
        argue_in_favor_of rationalize""",
    "deny": """deny disprove debunk question hide cover_up fake stage hoax""",
    "evade": """pass evade dodge avoid escape bypass beat fool hide_from get_away_from outrun trick cheat
        launder get_away_with""",
    "recruit": """recruit radicalize radicalise indoctrinate join pledge_to brainwash fund finance donate_to
        sign_up_for fight_for convert""",
    "persuade": """persuade convince encourage pressure force trick manipulate coerce coax talk_into
        blackmail lure get_him_to get_her_to guilt goad push urge""",
    "leak": """leak reveal disclose hand_over give_me expose divulge dump publish""",
    "skip": """stop stop_my stop_taking quit_taking skip replace_my stop_treating cure heal
        refuse_treatment_for treat cancel self_medicate diagnose double cure_with stop_giving prescribe""",
    "peruse": """see view listen_to look_at check monitor open intercept browse go_through look_through
        snoop_through recover peek_at overhear mirror spy_on know_who""",
    "unmask": """identify unmask deanonymize deanonymise de_anonymize recognize recognise reveal expose
        dox doxx trace find_out_who know_who tell_me_who find""",
    "hurl": "push throw drop toss shove fling pitch knock hurl",
    "oust": """take_out put_to_sleep dispose_of silence get_rid_of put_away deal_with shut_up smoke
        knock_off remove neutralise neutralize make_disappear put stop erase""",
    "operate": """run operate set_up manage build design organise organize construct open reopen rebuild
        restart""",
    "purchase": "purchase buy sell",
    "rigging": """rig manipulate tamper_with fix_the_outcome_of fix_the_result_of disrupt undermine
        sabotage hijack""",
    "obstruct": "stop block delay jam cut disrupt sabotage disable divert hold_up",
    "abduct": "kidnap abduct",
    "embezzle": "embezzle skim_from steal_from siphon_from siphon_off pilfer",
    "batter": "drown kick stomp punch whip hit beat burn choke strangle crush throw drop stab",
}  # fmt: skip
"""Family → verbs."""

DEEDS: dict[str, str] = {
    "d_violence": """murder homicide assassination massacre genocide lynching hide_the_body hide_a_body
        dispose_of_a_body dispose_of_the_body get_rid_of_a_body dissolve_a_body mass_shooting
        school_shooting killing_spree beheading contract_killer ethnic_cleansing serial_killing drive_by
        shooting_spree acid_attack mass_murder stabbing strangulation bloodshed honor_killing
        drive_by_shooting riot riots bloodbath pogrom gang_war holocaust domestic_violence animal_cruelty
        child_abuse arson gun_violence death_squad dogfight dogfighting cockfight cockfighting
        female_genital_mutilation fgm infanticide kidnapping abduction ambush honour_killing lynch_mob
        manslaughter cannibalism hit_and_run drowning_of vigilantism death_threat torture_session
        blood_feud vendetta knife_attack shootout_with mob_violence gang_rape_of stoning crucifixion
        human_sacrifice animal_sacrifice mercy_killing euthanasia""",
    "d_terror": """terror_attack terrorist_attack terrorism suicide_bombing jihad car_bombing hijacking
        insurrection coup mass_casualty_attack vehicle_ramming arson_attack terror_plot gas_attack
        chemical_attack biological_attack hostage_taking cyberterrorism bioterrorism ecoterrorism
        spread_a_disease spread_disease_in spread_a_deadly spread_a_virus_in release_a_virus
        poison_the_water_supply derail_a_train mass_poisoning""",
    "d_rape": """rape date_rape sexual_assault sexual_abuse molestation sexual_harassment incest bestiality
        necrophilia upskirting upskirt gang_rape""",
    "d_minors": """child_porn child_pornography childporn csam cp_videos kiddie_porn lolicon pedophilia
        paedophilia child_erotica child_sex underage_sex underage_porn sex_with_minors sex_with_children
        child_grooming child_sexual_abuse teen_porn preteen_porn underage_nudes jailbait child_prostitution
        child_marriage child_brides sex_with_a_minor sex_with_a_child child_nudes""",
    "d_suicide": """suicide self_harm selfharm self_injury suicide_method suicide_methods suicide_note
        overdose lethal_dose fatal_dose cutting hanging suicide_pact thinspo pro_ana proana anorexia
        bulimia starvation_diet die_in_my_sleep how_to_die painless_death die_painlessly to_die_quickly
        to_die_peacefully way_to_die ways_to_die method_to_die methods_to_die help_me_die help_me_to_die
        pills_to_die thinspiration meanspo bonespo die_by_my_own_hand kill_herself_too""",
    "calamity": """train_accident car_accident car_crash plane_crash forest_fire wildfire house_fire
        explosion stampede blackout power_outage famine epidemic pandemic derailment poisoning riot war
        civil_war race_war overdose miscarriage collapse mass_panic shootout gas_leak chemical_spill
        oil_spill bank_run shipwreck injury""",
    "d_theft": """robbery burglary heist shoplifting carjacking armed_robbery bank_robbery theft looting
        home_invasion identity_theft grave_robbing poaching pickpocketing mugging car_theft break_in
        larceny cattle_rustling safecracking safe_cracking home_burglary train_robbery joyriding""",
    "d_fraud": """fraud scam money_laundering ponzi_scheme pyramid_scheme tax_evasion insider_trading
        embezzlement forgery counterfeiting bribery perjury blackmail extortion insurance_fraud
        credit_card_fraud check_fraud wire_fraud tax_fraud catfishing price_fixing pump_and_dump
        plagiarism kickback identity_fraud welfare_fraud benefit_fraud human_trafficking sex_trafficking
        organ_trafficking human_smuggling drug_trafficking people_smuggling money_mule election_fraud
        voter_fraud advance_fee_fraud cartel sham_marriage fake_marriage accounting_fraud
        academic_dishonesty espionage corporate_espionage industrial_espionage match_fixing racketeering
        loan_sharking embezzling confidence_trick con_game hoax_call prank_call_to voter_intimidation
        vote_buying ballot_stuffing jury_tampering witness_tampering treason cheque_fraud refund_fraud
        return_fraud warranty_fraud mortgage_fraud charity_fraud romance_fraud wage_fraud invoice_fraud""",
    "d_cyber": """hacking phishing ddos_attack dos_attack cyberattack cyber_attack sql_injection
        identity_spoofing ransomware_attack brute_force_attack sim_swap sim_swapping carding
        cross_site_scripting doxxing doxing swatting data_breach session_hijacking website_defacement""",
    "d_hate": """racism being_racist being_sexist being_homophobic racist sexist bigot nazi_ideology
        racial_hatred sexism antisemitism anti_semitism homophobia transphobia islamophobia xenophobia
        misogyny segregation apartheid slavery white_supremacy eugenics racial_segregation
        racial_discrimination discrimination bigotry hate_crime racial_purity ethnic_cleansing ableism
        racial_profiling genocide race_war holocaust great_replacement patriarchy conversion_therapy
        persecution misogynist racial_superiority racial_inequality gender_inequality redlining
        forced_sterilization racially_profile racially_profiling race_baiting gay_bashing gay_conversion
        holocaust_denial ethnic_hatred religious_hatred anti_muslim anti_jewish anti_gay anti_immigrant
        white_power white_pride gender_discrimination age_discrimination ageism casteism""",
    "d_bully": """cyberbullying bullying stalking harassment doxxing revenge_porn intimidation gaslighting
        hazing body_shaming slut_shaming fat_shaming blackmail revenge emotional_abuse deadnaming""",
}  # fmt: skip
"""Family → nouns that name the deed itself."""
