/* Options that several subcommands have, beside those of tools/unlock and
 * tools/newslot. */
#ifndef TOOLS_OPTION_H
#define TOOLS_OPTION_H

/* Take -q, -v, or -h (which prints `help` and ends the program); for any other
 * value of getopt_long the use was wrong. EXIT_OK, or EXIT_USAGE after a
 * message. */
int option_common(const char *command, int option, const char *help);

/* Take --name-max: a number of bytes that a volume can have. */
int option_name_max(const char *command, const char *value,
                    unsigned long *name_max);

#endif
