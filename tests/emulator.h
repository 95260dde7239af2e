/*
 * Tests of a build for another machine run through an emulator, which
 * tests/run names in the environment variable TEST_EMULATOR: a command and its
 * options, separated by blanks.
 */
#ifndef TESTS_EMULATOR_H
#define TESTS_EMULATOR_H

/* Does an emulator run this program? */
int emulated(void);

/* Replace this process by this program from its start, through the emulator if
 * there is one. argv[0] is not used. Returns only where that fails. */
void exec_self(const char *const *argv);

#endif
