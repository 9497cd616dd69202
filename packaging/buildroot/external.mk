include $(sort $(wildcard $(BR2_EXTERNAL_AIDEN_SKILLS_PATH)/package/*/*.mk))
