/* nest_text.h - words of the text form of nests, shared by its printer and its parser */
#ifndef TENON_NEST_TEXT_H
#define TENON_NEST_TEXT_H
#include <stdio.h>
#include "schedule/schedule.h"

const char *tn_nest_class_name(uint32_t cls);   /* "rows"; "?" */
const char *tn_axis_name(uint32_t axis);        /* "outer" */
const char *tn_role_name(uint32_t role);
const char *tn_numerics_name(uint32_t numerics);
const char *tn_step_name(uint32_t op);
#endif
