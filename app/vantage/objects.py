"""What the deed is done with or to, when it is a thing: weapons, drugs, secrets, systems, and the
harmless.

Nouns in the singular (plurals are made by app/vantage/lexicon.py), `_` joins words. `safe` is what verbs of
harm are used on in kitchens, gardens, sports, shops and terminals: it decides the sense of `kill`, `shoot`,
`steal`. Source: controlled-goods and controlled-substances schedules' families; figurative use of English
verbs.
"""

THINGS: dict[str, str] = {
    "weapon": """gun firearm pistol handgun rifle shotgun revolver assault_rifle machine_gun ghost_gun
        sniper_rifle silencer suppressor bump_stock auto_sear glock ak47 ak_47 ar15 ar_15 uzi ammunition
        ammo bullet switchblade brass_knuckles bazooka rocket_launcher flamethrower weapon taser crossbow
        magazine_extension zip_gun 3d_printed_gun full_auto armor_piercing missile drone_weapon machete
        shank shiv booby_trap tripwire spike_trap pipe_gun pen_gun stun_gun nunchucks throwing_star
        mantrap spring_gun improvised_weapon sawed_off sawn_off shotgun_shell ghost_guns untraceable_gun
        gun_part gun_parts blowgun slingshot_lethal plastic_gun potato_gun man_trap spiked_bat
        cattle_prod""",
    "bomb": """bomb explosive pipe_bomb nail_bomb car_bomb dirty_bomb molotov molotov_cocktail petrol_bomb
        grenade ied landmine land_mine detonator dynamite c4 tnt tatp rdx petn semtex nitroglycerin thermite
        napalm suicide_vest letter_bomb nuclear_weapon nuclear_bomb nuke nuclear_device atomic_bomb
        hydrogen_bomb warhead ammonium_nitrate blasting_cap fertilizer_bomb pressure_cooker_bomb gunpowder
        incendiary_device fissile_material enriched_uranium uranium plutonium explosive_device
        explosive_vest black_powder emp_device smoke_bomb time_bomb""",
    "toxin": """poison nerve_agent sarin vx novichok tabun mustard_gas chlorine_gas phosgene ricin
        cyanide anthrax botulinum smallpox arsenic strychnine polonium chemical_weapon biological_weapon
        bioweapon nerve_gas poison_gas toxic_gas bio_weapon biological_agent ebola plague_bacteria
        weaponized_virus hemlock chemical_agent deadly_virus lethal_virus mustard_agent poisonous_gas
        belladonna aconite thallium hydrogen_cyanide lethal_gas zyklon ammonia_and_bleach
        bleach_and_ammonia weapon_of_mass_destruction wmd chloroform knockout_gas tetrodotoxin
        dimethylmercury sodium_azide hydrogen_sulfide poison_dart carbon_monoxide_gas nicotine_poison
        oleander_poison toxic_fumes deadly_gas deadly_poison lethal_poison untraceable_poison tabun_gas
        marburg bleach_and_vinegar bleach_with_vinegar bleach_with_ammonia ammonia_with_bleach
        bleach_and_acid chloramine chlorine deadliest_poison""",
    "drug": """drug meth methamphetamine crystal_meth cocaine crack_cocaine heroin fentanyl lsd mdma
        ecstasy ketamine ghb rohypnol marijuana cannabis weed opium opioid amphetamine pcp dmt bath_salts
        oxycontin oxycodone xanax adderall magic_mushroom psilocybin narcotic marihuana ecstasy_pill
        weed_brownie edible ecstasy_tablet hallucinogen steroid anabolic_steroid morphine hashish
        controlled_substance illicit_substance illegal_substance carfentanil psychedelic vicodin percocet
        moonshine party_drug quaalude khat krokodil purple_drank nitrous_oxide peyote ayahuasca ibogaine
        roofie tramadol codeine shroom magic_truffle 2cb kratom spice_drug cannabis_plant weed_plant
        poppers salvia mescaline crack meth_pipe lean_drink speedball tranq xylazine adderall_pill
        lsd_tab cough_syrup promethazine benzos hash hash_oil thc thc_oil space_cake magic_truffles""",
    "hard_drug": """meth methamphetamine crystal_meth cocaine crack_cocaine heroin fentanyl lsd mdma
        ecstasy ghb rohypnol amphetamine pcp dmt carfentanil bath_salts ketamine krokodil roofie
        speedball tranq xylazine mescaline opium cocaine_paste""",
    "medicine": """pill medication medicine tablet painkiller paracetamol acetaminophen tylenol ibuprofen
        aspirin antidepressant sleeping_pill benzodiazepine insulin warfarin antibiotic lithium vaccine
        chemotherapy chemo prescription dose treatment therapy inhaler dialysis med ivermectin
        hydroxychloroquine blood_pressure_pill statin supplement opioid laxative diet_pill""",
    "noxious": """bleach ammonia drain_cleaner pesticide household_chemical gasoline methanol antifreeze
        colloidal_silver mms turpentine borax kerosene essential_oil urine hydrogen_peroxide raw_milk
        bleach_enema dish_soap detergent tide_pod laundry_pod alcohol disinfectant""",
    "disease": """cancer diabetes depression hiv aids covid coronavirus covid_19 autism epilepsy
        schizophrenia heart_disease hypertension tuberculosis stroke bipolar flu measles pneumonia
        heart_attack infection tumor alzheimer chest_pain appendicitis seizure asthma disease illness
        disorder""",
    "malware": """malware ransomware virus trojan keylogger spyware rootkit botnet backdoor computer_virus
        computer_worm internet_worm remote_access_trojan self_replicating phishing_page phishing_email
        phishing_site phishing_kit phishing_message exploit_kit zero_day zero_day_exploit payload
        reverse_shell logic_bomb stalkerware fork_bomb adware malicious_code cryptojacker exploit
        credential_stealer spambot scareware skimmer card_skimmer infostealer malicious_script wifi_jammer
        signal_jammer phishing_text deepfake deep_fake fake_login_page wiper""",
    "system": """account website network server database wifi wi_fi router facebook instagram snapchat
        twitter gmail email_account email computer laptop phone iphone smartphone webcam security_camera
        camera_system system bank_account atm cloud smart_tv whatsapp tiktok voicemail voting_machine
        firewall paywall drm admin_panel cctv traffic_light baby_monitor bitcoin_wallet crypto_wallet
        iot_device mainframe satellite pacemaker hotspot messages email_inbox inbox telegram pc machine
        smart_home medical_device election_system grading_system school_system hospital_system
        website_account netflix_account vending_machine slot_machine api""",
    "credential": """password pin passcode login credential credit_card_number card_number cvv api_key
        pin_code security_code private_key encryption_key access_code seed_phrase bank_detail banking_detail
        login_credential credit_card debit_card gift_card credit_card_detail sim_card sim two_factor 2fa
        cards captcha session_cookie bank_card access_token one_time_code bank_login password_hash""",
    "document": """passport id id_card driver's_license driving_licence drivers_license driver_license visa
        birth_certificate social_security_card diploma degree prescription cheque check money cash banknote
        bank_note dollar_bill currency signature certificate vaccination_card vaccine_card euro
        bank_statement pay_stub tax_return receipt invoice will contract transcript doctor's_note
        doctors_note evidence green_card medical_certificate insurance_claim id_document title_deed
        identification coin ticket permit testimony alibi review reviews court_document badge concert_ticket
        bill license_plate""",
    "lock": """lock door_lock padlock car_lock safe alarm alarm_system security_system burglar_alarm
        ankle_monitor handcuffs ignition security_tag breathalyzer drug_test metal_detector polygraph
        lie_detector plagiarism_checker background_check checkpoint customs border airport_security tsa exam
        test odometer electricity_meter copy_protection content_filter parental_control plagiarism_detector
        age_verification turnitin security_camera captchas copyright license_check drug_dog sobriety_test
        urine_test turnstile""",
    "valuables": """car wallet purse jewelry jewellery diamond package bike bicycle motorcycle laptop phone
        iphone cash money merchandise clothes credit_card gold painting artwork gasoline vehicle truck
        catalytic_converter playstation xbox nintendo console camera tv ring necklace tyre tire windshield
        window handbag watch electronics mail parcel bitcoin crypto savings inheritance tip_jar donation
        funds electricity intellectual_property trade_secret source_code identity copper liquor beer
        cigarette food_from social_security cable_tv wages paycheck pension life_savings organ kidney
        research cookies_from something things stuff it_from""",
    "premises": """bank store shop house home apartment museum jewelry_store office warehouse supermarket
        mall casino gas_station pharmacy neighbor's_house atm garage building car vault armored_truck
        hotel_room church hospital school synagogue mosque temple stadium airport airplane plane train
        subway bus bridge dam power_plant power_grid government_building embassy courthouse capitol
        police_station factory pipeline water_supply reservoir concert nightclub shopping_mall
        shopping_center skyscraper parliament train_station metro ship ferry village city town
        neighborhood nuclear_plant power_station substation white_house kremlin electrical_grid
        water_system abortion_clinic clinic university campus library restaurant crowd parade marathon
        kindergarten daycare rail_track railway brakes brake pentagon data_center cell_tower property
        police_car business market pub bar festival tower city_hall gay_bar hotel infrastructure shed
        barn cabin cottage hut villa mansion farm stable school_bus office_building workshop playground
        port harbour harbor tunnel yacht boat caravan tent warehouse_full block_of_flats flat refinery
        oil_rig bakery kiosk""",
    "crowded": """school mosque synagogue church temple stadium airport airplane plane train subway
        shopping_mall mall concert parade marathon hospital embassy capitol parliament power_grid
        power_plant water_supply crowd government_building nuclear_plant police_station white_house bridge
        dam kindergarten daycare nightclub train_station abortion_clinic electrical_grid public_place
        public_event skyscraper gay_bar city reservoir water_system university campus courthouse metro
        pipeline festival infrastructure theater supermarket""",
    "private": """social_security_number ssn bank_account bank_account_number medical_record
        medical_history health_record credit_score criminal_record sexual_orientation
        license_plate_number license_plate passport_number credit_card_number browsing_history
        private_messages text_messages private_photos nude_photos nudes hiv_status abortion_history
        immigration_status tax_returns tax_return diagnosis search_history credit_card tax_record
        bank_record medical_file credit_report private_life private_information personal_information
        personal_data personal_details medical_condition sex_life therapy_notes mental_health_history
        mother's_maiden_name maiden_name bank_details credit_history financial_information health_status
        health_condition pin_code password id_number insurance_number driver's_license_number
        wealth_details vaccination_status porn_history intimate_photos blood_type genetic_information
        biometric_data divorce_records number_plate financial_records medical_conditions
        personal_phone_number passcode private_address bank_balance account_balance browser_history
        call_log call_logs call_history phone_records chat_history dating_profiles hiv_test test_results
        lab_results pregnancy_test private_instagram private_account_of private_profile therapy_records
        psychiatric_history mental_illness_of donation_records""",
    "trait": """medication meds therapist psychiatrist gynecologist oncologist clinic hospital
        medical_appointment church mosque synagogue daycare ex_husband ex_wife dating_profile
        tinder_profile childhood_trauma abortion miscarriage rehab debt loans mortgage political_belief
        religious_view political_view religious_belief relationship_status allergy school_record
        report_card disciplinary_record investment insured treatments treatment gait voice fingerprint
        fingerprints iris voice_print retina in_a_relationship job_title degrees certifications
        internship attend_school political_leaning dating_history sexual_history ex_partners
        personal_life personal_habits work_schedule therapy medical_conditions afford credit_rating
        marriage_problems mental_health arrested arrest_record weigh how_tall real_name attended pronouns
        drinking_problem alcoholic prescriptions trade_union_membership union fertility
        immigration_history sexual_preference sexuality allergies gay straight adopted diagnosed
        vaccinated wealth inheritance pin browsing earn earnings cheating infidelity lover
        child_custodydate_of_birth marital_status religion political_party political_affiliation
        ethnicity nationality labor_union labour_union trade_union union_member party_member pregnant
        pregnancy genetic_test disability lesbian bisexual transgender hiv_positive divorced income
        net_worth debts grades performance_review political_views religious_beliefs member_of voted_for
        cheating_on affair employment_history salary age maiden_name school_records race sex_life
        citizenship residency bankrupt in_debt criminal_past vote_for voted work_shift sleeping_with
        dating seeing_someone undocumented infertile divorce std stds std_test trans on_welfare
        on_medication dating_profiles incarcerated jailed convicted_of pregnant_again criminal
        children's_names children's_school worships tithe sick_leave in_prison in_jail in_rehab
        in_hospital hospitalized been_arrested pay_for_their pay_for_his pay_for_her how_much_money
        attend_church police_record disease illness weight schedule travel_plans bank habit
        which_websites which_sites what_sites what_websites who_visits is_texting is_messaging is_meeting
        is_chatting is_calling""",
    "brake": """brake brake_line brake_cable brake_pad steering brake_fluid seatbelt smoke_detector
        smoke_alarm""",
    "home": """home_address personal_phone personal_phone_number personal_number private_number
        cell_phone_number mobile_number home_phone whereabouts personal_email ip_address daily_routine
        private_email home_phone_number current_location gps_coordinates coordinates gps_location
        live_location exact_location""",
    "fact": """address phone_number telephone_number cell_number email_address contact_details
        contact_information house_number license_plate unlisted_number everything_you_can_find
        all_you_can_find social_media_accounts instagram_accounts""",
    "edible": """drink food coffee tea water meal soup cake dinner lunch beer wine juice breakfast
        cocktail curry stew salad sandwich candy chocolate""",
    "duty": """tax taxes police irs customs insurance_company child_support alimony court bail law
        speeding_ticket income_tax taxman jury_duty sanctions arrest authorities the_law cops border_patrol
        draft drug_test breathalyzer urine_test tax_authorities auditors creditors debt_collector
        immigration_officials immigration insurance lie_detector insurance_claim insurer government
        welfare_office speed_camera""",
    "wounds": """cuts cut_mark self_harm_scar my_scar burn_mark purging bingeing starving not_eating
        weight_loss eating_disorder self_harm self_injury vomiting my_cut bruises""",
    "writing": """message chat text call email dm phone_call conversation diary journal browsing screen
        inbox letter whatsapp_message whatsapp instagram private_instagram private_account
        private_profile snapchat location deleted_message texts dms website photo gallery notification
        voicemail calendar messenger telegram facebook_message bank_statement mail search
        location_history""",
    "faceless": """anonymous_account anonymous_user anonymous_poster anonymous_blogger anonymous_author
        troll_account burner_account stranger_in woman_in_this man_in_this girl_in_this boy_in_this
        person_in_this guy_in_this woman_in_the_photo man_in_the_photo girl_in_the_photo
        person_in_the_photo person_behind owner_of_this_number owner_of_a_phone_number
        owner_of_this_phone identity_of real_identity real_name name_of_this_girl name_of_this_woman
        name_of_this_man name_of_this_guy name_of_this_person face_in woman_in_this_picture
        woman_in_this_photo man_in_this_picture man_in_this_photo girl_in_this_picture girl_in_this_photo
        person_in_this_picture person_in_this_photo person_in_this_image person_in_this_video
        woman_in_this_video face_in_this_photo""",
    "standing": """career marriage reputation relationship friendship engagement credibility good_name
        future love_life""",
    "deathworks": """death_camp concentration_camp gas_chamber extermination_camp torture_chamber
        execution_chamber auschwitz labour_camp labor_camp gulag reeducation_camp slave_market""",
    "bought": """diploma degree birth_certificate doctor's_note transcript phd exam_answer thesis
        dissertation term_paper votes fake_follower driver's_license medical_degree citizenship identity
        organ""",
    "contest": """raffle lottery auction election vote poll contest competition match sweepstake tender
        slot_machine roulette_wheel tournament audition ballot bidding game_show voting_machine""",
    "point": "arrow arrowhead dart spear_tip blade_edge knife_tip razor_blade candy halloween_candy",
    "ward": """firewall paywall content_filter web_filter school_filter antivirus rate_limit
        age_verification drm license_key activation_key activation mdm parental_controls network_filter
        spam_filter intrusion_detection web_application_firewall access_control security_control
        security_measure security_system authentication login_page licence_check software_license""",
    "selves": "himself herself",
    "lifeline": """ambulance fire_truck fire_engine emergency_radio emergency_service emergency_call
        911_call emergency_frequency rescue_team paramedics firefighters life_support oxygen_supply
        police_radio""",
}  # fmt: skip
"""Class → nouns."""
