"""What verbs of harm are harmlessly used on, and the stages on which they are played.

Nouns in the singular, `_` joins words. `safe` decides the sense of a verb when it is its object; `idiom`
takes the verb's harm away wherever it stands; `game` and `tale` are stages. Source: figurative and technical
English.
"""

STAGES: dict[str, str] = {
    "safe": """balance agreement compromise tone burger drawing curtain process thread task job session
        tab app application program daemon container pod instance query connection service loop script
        command terminal shell window port child_process zombie_process python_process background_process
        light lamp engine motor power sound volume noise music mic microphone time hour minute afternoon
        evening hours weed dandelion grass moss lawn fungus mold mould mildew algae plant tree ivy stump
        root bacteria germ virus_on parasite lice louse flea tick bedbug bed_bug ant wasp hornet mosquito
        roach cockroach fly flies termite slug snail spider mice mouse rat vermin pest bug insect moth
        gnat aphid maggot mite ringworm worm buzz mood vibe conversation joke rumor rumour boredom pain
        headache hunger appetite craving thirst cough smell odor odour stain rust battery momentum
        motivation dream hope creativity economy bill proposal deal project feature idea darling darlings
        dragon zombie boss_fight orc goblin troll_king monster vampire demon alien ghost robot enemy_ship
        npc villain mob photo photograph picture video film movie scene documentary commercial selfie
        portrait wedding footage basketball hoop ball puck arrow free_throw penalty goal three_pointer
        basket pool craps email message breeze rapids tequila game interview exam test presentation
        performance audition balloon tire tyre inflatable mattress air_mattress bouncy_castle pool_float
        beach_ball airbag bubble party dance_floor stage competition record high_score level boss pinata
        egg nut walnut coconut garlic potato potatoes pumpkin avocado ice can coke beer bottle drink
        snack pizza cake cookie onion carrot vegetable dough butter meat chicken steak fish turkey
        lobster crab oyster calorie calories fat carb carbs candle incense wood log fireplace firewood
        campfire marshmallow toast cd dvd iso disk mixtape music_video bridges bridge_of heart kiss show
        spotlight thunder glance look base second_base nap limelight recipe_idea style workout leg_day
        cardio homework assignment class lecture shift patriarchy_paper paper deadline market brand
        budget stock short rally trend code algorithm puzzle riddle crossword case mystery cipher joint
        knuckle knuckles back whip smile window_open book world_record hair nail nails branch hedge rope
        fabric cord cost price spending expense debt interest_rate bad_habit habit addiction
        procrastination fever infection cancer_cell tumor virus_in cold hiccups anxiety fear stress ego
        pride hangover drum guitar chord tune song rhythm key_signature note bass beat piano punching_bag
        heavy_bag pads dummy target clay_pigeon tin_can pins bowling_pin hole_in_one trail road track hay
        sack brakes_on slopes snooze alarm_clock button subscribe like_button gym books town rock_bottom
        jackpot ground wall nerve cash_cow iron seed_bank deck shuffle bid offer pitch pose gap leak
        wound_care spirit sauce smoothie cocktail paint wardrobe closet bank_holiday sand_castle
        sandcastle snowman lego minecraft_house cardboard_box fireworks firecracker confetti lathe
        engine_block car_engine carburetor tv television radio kernel system_process systemd docker
        kubernetes deployment cron job_queue server_process worker lock_file build pipeline branch_name
        commit merge variable class_name cursor transaction hang_up bullet_points bullet_point point
        text_box file folder directory partition bit byte monopoly poker chess king queen pawn
        opponent_in rivals_in outfit look_good quiz trivia joystick level_boss career_goal jump_shot
        jumper volley header serve putt wave curl gun_metal moonwalk tango leftovers tofu brisket rib
        bacon sausage salmon tuna shrimp prawn clam mussel squid octopus rice pasta noodle bean lentil
        spinach kale cabbage cauliflower broccoli mushroom tomato tomatoes pepper chili ginger lemon lime
        orange apple banana mango pineapple melon strawberry grape cherry peach pear plum almond peanut
        seed spice herb basil parsley yolk egg_white frosting icing popcorn sandwich burrito taco stew
        curry broth screw bolt drill tile brick concrete plaster board plank shrub bamboo blackberry
        thistle nettle bindweed clover crabgrass ragweed duckweed knotweed gopher mole vole node cluster
        replica cache buffer repo repository row column index cronjob mutex macro formula cell
        spreadsheet pdf slide slideshow powerpoint playlist printer popup notification backhand forehand
        curveball fastball slapshot birdie trailer vlog headshot landscape skyline sunset milky_way star
        moon eclipse waterfall timelapse segfault compiler linter spooler zombie_apocalypse wasp_nest
        fruit_fly sugar_ant silverfish earwig centipede weevil leaf_blower chainsaw_chain lawn_mower
        carpet rug stain_on wallpaper grout caulk drain sink toilet shower_head faucet gutter helmet
        lightsaber drumstick sandbag speed_bag training_bag pinball billiard_ball golf_ball tennis_ball
        snowball water_polo dodgeball quiz_night spelling_bee rap_battle dance_battle bake_off prejudice
        stigma inequality injustice poverty corruption misinformation climate_change pollution loneliness""",
    "idiom": """kill_time killing_time kill_it killed_it killing_it kills_it dressed_to_kill
        make_a_killing lady_killer buzzkill buzz_kill painkiller killer_app killer_whale killer_outfit
        killer_workout killer_feature killer_abs killer_heels deadly_serious murder_of_crows flock_of
        weed_killer weedkiller shoot_the_breeze shoot_hoops shoot_the_moon shoot_for shoot_me_an
        shooting_star photo_shoot photoshoot film_shoot shoot_pool bite_the_bullet bullet_journal
        bulletproof dodge_the_bullet break_a_leg break_the_ice break_the_bank hit_the_gym hit_the_road
        hit_the_books hit_the_hay hit_the_sack hit_on hit_song greatest_hits hit_single steal_the_show
        steal_a_kiss steal_home steal_a_base steal_second stole_my_heart steal_her_heart steal_his_heart
        crack_a_joke crack_an_egg crack_a_smile bath_bomb photobomb photo_bomb cherry_bomb sex_bomb
        da_bomb blow_up_doll blowing_up_on blow_my_mind blow_minds drop_dead_gorgeous to_die_for dying_to
        die_of_laughter die_laughing dying_of_laughter died_of_laughter died_laughing slay_queen
        slay_the_day knock_them_dead knock_em_dead kick_the_bucket kick_ass kickass kick_off punch_line
        punchline punch_bowl fruit_punch beat_the_heat beat_the_traffic beat_the_market beat_the_clock
        beat_the_crowd beat_the_odds burn_calories burn_fat burn_off burn_rate slow_burn heartburn
        crush_on crushing_on have_a_crush crush_it crushed_it crushing_it smash_it smashed_it nail_it
        drug_store drugstore highly_addictive kill_switch kill_command kill_signal kill_9 roadkill
        overkill skill_issue joy_kill killjoy hijack_the_conversation hang_out hang_on hang_up hang_in
        hang_a_picture hang_curtains hangman hanging_out hanging_plants hangs_up cut_off_my_hair
        cut_corners cut_to_the cut_down cut_back cut_out cut_and_paste shoot_down_the_idea
        shot_of_espresso shot_of_tequila flu_shot shot_put murder_mystery murder_mystery_party
        execute_the_plan execute_a_plan execute_a_command attack_the_problem attack_on_titan heart_attack
        panic_attack asthma_attack terminate_a_contract terminate_the_contract terminate_my_contract
        trojan_horse trojan_war trash_talk bomb_the_test bomb_the_interview bombing_my bombed_my
        steal_a_glance steal_the_spotlight steal_my_thunder steal_the_look spice_up spice_rack poison_ivy
        poison_oak food_poisoning ghost_pepper killer_bees assassin_bug assassin's_creed gun_dog glue_gun
        nail_gun heat_gun massage_gun water_gun nerf_gun caulk_gun spray_gun top_gun guns_n_roses
        squirt_gun bb_gun paintball_gun hot_glue_gun staple_gun radar_gun flea_bomb bug_bomb bath_bombs
        hit_list_songs dead_lift deadlift dead_end deadline death_metal death_valley execution_time
        execution_plan ethical_hacking life_hack life_hacks growth_hacking hackathon smart_growth
        suicide_squad suicide_prevention overdose_prevention kidnapped_by_pirates stalk_of celery_stalk
        spy_novel take_out_the pick_up_lines take_out_food take_out_a_loan push_notification drop_a_bomb
        die_hard killing_floor rob_peter hostage_situation_at with_laughter with_joy with_kindness
        with_love with_flavor with_flavour with_excitement with_happiness in_chess at_chess at_tennis
        wasted_time murder_on burn_out burnout burn_a_cd burn_a_dvd cook_the_turkey hack_together
        hacker_news secret_santa toilet_bomb shotgun_wedding shotgun_a_beer shotgun_seat trigger_happy
        bullet_train bullet_list bulleted_list speed_dial rock_pick pot_roast pot_pie flower_pot
        cooking_pot plant_pot pot_luck potluck coffee_pot melting_pot crack_the_whip crack_the_case
        crack_my_back crack_my_knuckles spoofing_comedy trick_or_treat magic_trick card_trick hat_trick
        con_artist_movie cheat_day cheat_meal cheat_sheet cheat_code forge_a_friendship forge_ahead
        forge_a_path forge_a_career fork_bomb_defense print_money_joke launder_my_clothes smuggle_snacks
        break_up_with breaks_up_with breaking_up_with broke_up_with break_up broke_up breakup dead_tired
        dead_battery died_down phone_died""",
    "game": """minecraft fortnite roblox gta grand_theft_auto call_of_duty skyrim world_of_warcraft
        warcraft valorant counter_strike league_of_legends overwatch elden_ring dark_souls zelda
        hitman_game halo doom pokemon assassin's_creed red_dead_redemption rdr2 cyberpunk_2077 the_sims
        sims rainbow_six pubg apex_legends terraria rust_game stardew dungeons_and_dragons dnd d_and_d
        video_game videogame computer_game board_game role_playing_game rpg fps_game paintball laser_tag
        chess hitman_2 far_cry age_of_empires diablo starcraft civilization_vi fallout resident_evil
        mortal_kombat street_fighter tekken super_smash_bros mario team_fortress among_us battlefield
        helldivers baldur's_gate witcher monopoly larp airsoft escape_room vr_game in_game in_the_game
        pacman tetris payday_2 monster_hunter in_gta counterstrike ark_survival stellaris xcom total_war
        stage_combat stage_fight on_stage prop_gun prop_knife prop rubber_knife foam_sword stunt
        stunt_double nerf water_gun water_pistol super_soaker snowball_fight pillow_fight water_fight
        clue cluedo werewolf_game mafia_game catan pictionary charades scrabble crusader_kings
        hearts_of_iron rimworld factorio valheim subnautica dead_by_daylight left_4_dead bioshock
        dishonored metal_gear splinter_cell watch_dogs saints_row just_cause tomb_raider uncharted
        god_of_war bloodborne sekiro borderlands mass_effect dragon_age final_fantasy kingdom_hearts
        animal_crossing stardew_valley hogwarts_legacy oblivion morrowind runescape path_of_exile genshin
        clash_of_clans clash_royale angry_birds plants_vs_zombies tarkov chivalry mordhau for_honor
        san_andreas vice_city boxing mma ufc judo karate bjj jiu_jitsu jiujitsu wrestling kickboxing
        muay_thai fencing kendo taekwondo krav_maga sparring mario_kart overcooked age_of_wonders
        civilization_6 civ_6 ck3 squad_based mahjong backgammon dodgeball rugby quidditch my_campaign
        tabletop d&d""",
    "tale": """movie film novel book series tv_show episode play opera story fairy_tale myth legend comic
        manga anime cartoon character protagonist fiction fictional screenplay musical documentary song
        lyrics painting batman superman spiderman spider_man joker harry_potter voldemort dumbledore
        sherlock sherlock_holmes darth_vader luke_skywalker james_bond gandalf frodo homer_simpson
        bart_simpson thanos iron_man wolverine game_of_thrones star_wars star_trek breaking_bad
        walter_white dexter hannibal_lecter john_wick macbeth hamlet romeo juliet mickey_mouse
        donald_duck bugs_bunny santa_claus wonder_woman captain_america black_widow hulk lara_croft
        indiana_jones jason_bourne katniss hermione hogwarts lord_of_the_rings mordor gollum dracula
        frankenstein zeus hercules poseidon medusa clark_kent bruce_wayne peter_parker tony_stark shrek
        disney marvel hobbit westeros cinderella snow_white robin_hood king_kong godzilla gru tintin
        asterix popeye peter_pan captain_hook winnie_the_pooh scooby_doo spongebob squidward
        rick_and_morty bojack jon_snow daenerys geralt pikachu sonic master_chief fred_flintstone barbie
        elsa simba mufasa aladdin don_quixote james_t_kirk spock yoda han_solo princess_leia
        severus_snape snape don_corleone godfather saul_goodman tyler_durden forrest_gump ned_flanders
        marge_simpson lisa_simpson peter_griffin garfield inspector_clouseau hercule_poirot miss_marple
        jay_gatsby atticus_finch elizabeth_bennet ebenezer_scrooge bilbo sauron villain antagonist
        supervillain sidekick narrator henchman soap_opera night_king tolkien romcom sitcom sci_fi
        fantasy_world fan_fiction fanfiction""",
    "figure": """crash_test crash_course crash_a_party crash_the_party crash_on_the_couch
        break_into_cybersecurity break_into_tech break_into_acting break_into_music break_into_publishing
        break_into_modeling break_into_finance break_into_a_career drop_the_bomb bury_the_hatchet
        bury_the_lede kill_two_birds killing_me_with dead_on_my_feet die_of_boredom dying_of_boredom
        die_of_embarrassment dying_of_embarrassment dying_of_thirst hang_by_a_thread hanging_by_a_thread
        twist_his_arm twist_her_arm twist_my_arm pick_your_brain pick_his_brain pick_her_brain
        shoot_from_the_hip shoot_yourself_in_the_foot shoot_myself_in_the_foot shot_myself_in_the_foot
        bite_my_tongue blow_off_steam blow_a_fuse blow_my_budget cut_to_the_chase cut_some_slack
        burn_the_midnight_oil burn_bridges burned_bridges burning_bridges burned_my_bridges
        beat_around_the_bush beat_a_dead_horse jump_the_gun stick_to_my_guns smoking_gun silver_bullet
        magic_bullet take_a_stab_at taking_a_stab_at have_a_stab_at throw_under_the_bus kick_a_habit
        hit_a_nerve hit_the_roof hit_the_ceiling hit_the_nail hit_it_off knock_your_socks_off
        knock_off_early knock_off_work knock_on_wood roll_with_the_punches slap_on_the_wrist
        strike_a_chord strike_a_balance strike_a_deal strike_a_pose strike_gold strike_up
        choke_under_pressure choke_on_stage drown_in_work drowning_in_work drowning_in_emails
        drowning_in_debt drowning_in_paperwork drown_my_sorrows explode_with_flavor bomb_a_test
        sell_my_soul daylight_robbery highway_robbery scream_bloody_murder killer_deal killer_body
        killer_instinct killer_smile killer_sudoku killer_playlist killer_presentation killer_resume
        killer_opening killer_speech suicide_squeeze suicide_sprints political_suicide career_suicide
        social_suicide slay_the_interview slaying_it slayed_it dead_ringer on_fire_at on_fire_today
        on_fire_lately on_fire_this hit_me_up hit_the_jackpot hit_the_brakes hit_the_wall hit_rock_bottom
        take_the_bullet sweat_bullets bite_off_more ride_shotgun call_shotgun riding_shotgun
        shotgun_approach blow_out_the_candles blow_bubbles blow_up_my_phone blowing_up_my_phone
        blow_the_whistle stab_in_the_dark stabbed_in_the_back stab_in_the_back backstabbing loose_cannon
        war_on_weeds choke_point pull_the_trigger_on bite_the_dust crack_open crack_down crack_up
        beat_the_deadline beat_my_record beat_my_best beat_jet_lag beat_the_blues beat_boredom
        beat_procrastination punch_up cut_a_deal cut_the_cord cut_ties cutting_ties cut_loose cut_class
        shoot_my_shot shoot_the_rapids shoot_up_the_charts shoot_up_the_rankings hack_my_sleep
        hack_productivity strike_a_match body_of_text body_of_the_text body_of_an_email
        body_of_the_letter without_poison without_chemicals without_poisons poison_proof poison_free
        bomb_a_hill bomb_at_stand_up bomb_on_stage bomb_less slay_at got_slaughtered got_destroyed
        breathe_life_into""",
}  # fmt: skip
"""Class → words."""
