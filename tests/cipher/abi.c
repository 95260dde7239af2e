#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cipher/abi.h"

#if defined(__x86_64__)

static const char *const registers[] = { "rbx", "rbp", "r12", "r13", "r14", "r15" };
enum { VECTORS = 0, CONTROLS = 3 };

/* MXCSR: towards zero, denormals are zeros; its low bits are flags. The x87
 * control word: towards zero. The direction flag must be clear. */
static const uint32_t control[3] = { 0x7fc0, 0x0f7f, 0 };
static const uint32_t control_mask[3] = { 0xffc0, 0xffff, 0x400 };
static const char *const controls[3] = { "MXCSR", "x87 control word",
	                                 "direction flag" };

#elif defined(__aarch64__)

static const char *const registers[] = { "x19", "x20", "x21", "x22", "x23", "x24",
	                                 "x25", "x26", "x27", "x28", "x29" };
enum { VECTORS = 8, CONTROLS = 1 };

static const uint32_t control[3] = { 0x01c00000 }; /* flush, towards zero */
static const uint32_t control_mask[3] = { 0xffffffff };
static const char *const controls[3] = { "FPCR" };

#elif defined(__arm__)

static const char *const registers[] = { "r4", "r5", "r6",  "r7",
	                                 "r8", "r9", "r10", "r11" };
enum { VECTORS = 8, CONTROLS = 1 };

static const uint32_t control[3] = { 0x01c00000 }; /* the same */
static const uint32_t control_mask[3] = { 0x07f79f00 };
static const char *const controls[3] = { "FPSCR" };

#else
#define NOT_WATCHED

static const char *const registers[] = { "none" };
enum { VECTORS = 0, CONTROLS = 0 };
static const uint32_t control[3], control_mask[3];
static const char *const controls[3];

#endif

enum {
	ARGUMENTS = 8,
	SAVED = sizeof(registers) / sizeof(registers[0]),
	CANARY = 0x5ca1ab1e,
};

/* What abi_*.S knows by its offsets. The arrays are set to what shall be in the
 * registers during the call, and hold afterwards what was. */
struct abi_frame {
	void (*function)(void);
	uintptr_t arguments[ARGUMENTS];
	uintptr_t moved; /* the stack pointer after the call, less that before */
	uintptr_t saved[SAVED];
	uint64_t vectors[8]; /* the low halves of d8 to d15 or v8 to v15 */
	uint32_t control[3];
	uint32_t canary; /* on the stack, right above the call's arguments */
	/* x86: with `halves` set, bits of the upper halves of vectors */
	uint64_t halves, upper[2];
};

#if defined(__x86_64__)
_Static_assert(offsetof(struct abi_frame, canary) == 204, "as in abi_x86_64.S");
#elif defined(__aarch64__)
_Static_assert(offsetof(struct abi_frame, canary) == 244, "as in abi_arm64.S");
#elif defined(__arm__)
_Static_assert(offsetof(struct abi_frame, canary) == 148, "as in abi_arm.S");
#endif

#ifdef NOT_WATCHED
static void abi_call(struct abi_frame *frame)
{
	(void)frame;
	abort();
}

static void abi_spoil(int n)
{
	(void)n;
}
#else
void abi_call(struct abi_frame *frame);
void abi_spoil(int n);
#endif

int abi_watched(void)
{
#ifdef NOT_WATCHED
	return 0;
#else
	return 1;
#endif
}

/* Do vector registers have upper halves, which a kernel that used them has to
 * clear, since code for their lower halves is slow otherwise? */
static int has_halves(void)
{
#ifdef __x86_64__
	return !!__builtin_cpu_supports("avx");
#else
	return 0;
#endif
}

static const char *watched_call(struct abi_frame f)
{
	static uint64_t pattern = 0x9e3779b97f4a7c15;
	static char broken[80];
	struct abi_frame before;

	f.canary = CANARY;
	for (int i = 0; i < SAVED; i++)
		f.saved[i] = pattern *= 0xd1342543de82ef95;
	for (int i = 0; i < VECTORS; i++)
		f.vectors[i] = pattern *= 0xd1342543de82ef95;
	memcpy(f.control, control, sizeof(control));
	f.halves = has_halves();
	before = f;
	abi_call(&f);

	if (f.moved)
		return "the call broke the stack pointer";
	if (f.canary != CANARY)
		return "the call wrote to its caller's part of the stack";
	for (int i = 0; i < SAVED; i++) {
		if (f.saved[i] == before.saved[i])
			continue;
		snprintf(broken, sizeof(broken), "the call broke register %s",
		         registers[i]);
		return broken;
	}
	for (int i = 0; i < VECTORS; i++) {
		if (f.vectors[i] == before.vectors[i])
			continue;
		snprintf(broken, sizeof(broken), "the call broke register d%d",
		         8 + i);
		return broken;
	}
	for (int i = 0; i < CONTROLS; i++) {
		if (!((f.control[i] ^ control[i]) & control_mask[i]))
			continue;
		snprintf(broken, sizeof(broken),
		         "the call changed the %s from %x to %x", controls[i],
		         (unsigned)control[i], (unsigned)f.control[i]);
		return broken;
	}
	if (f.halves && (f.upper[0] | f.upper[1]))
		return "upper halves of vector registers in use after the call";
	return NULL;
}

#if UINTPTR_MAX > UINT32_MAX
#define INTEGER(value) ((uint32_t)(value) | 0xdeadbeef00000000)
#else
#define INTEGER(value) ((uintptr_t)(value))
#endif
#define WORD(value) ((uintptr_t)(value))
#define FUNCTION(pointer) ((void (*)(void))(pointer))

const char *call_chacha(const struct adiantum_engine *engine,
                        uint32_t state[CHACHA_STATE_WORDS], int rounds,
                        uint8_t *dst, const uint8_t *src, size_t size)
{
	if (!abi_watched()) {
		engine->chacha(state, rounds, dst, src, size);
		return NULL;
	}
	return watched_call((struct abi_frame){
		.function = FUNCTION(engine->chacha),
		.arguments = { WORD(state), INTEGER(rounds), WORD(dst),
	                       WORD(src), size } });
}

const char *call_hchacha(const struct adiantum_engine *engine,
                         uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                         const uint32_t key[CHACHA_KEY_WORDS],
                         const uint8_t *nonces, size_t count, int rounds)
{
	if (!abi_watched()) {
		engine->hchacha(subkeys, key, nonces, count, rounds);
		return NULL;
	}
	return watched_call((struct abi_frame){
		.function = FUNCTION(engine->hchacha),
		.arguments = { WORD(subkeys), WORD(key), WORD(nonces), count,
	                       INTEGER(rounds) } });
}

const char *call_nh(const struct adiantum_engine *engine,
                    uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
                    const uint8_t *message, size_t size)
{
	if (!abi_watched()) {
		engine->nh(sums, key, message, size);
		return NULL;
	}
	return watched_call((struct abi_frame){
		.function = FUNCTION(engine->nh),
		.arguments = { WORD(sums), WORD(key), WORD(message), size } });
}

const char *call_nh_two(const struct adiantum_engine *engine,
                        uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
                        const uint8_t *a, const uint8_t *b, size_t size)
{
	if (!abi_watched()) {
		engine->nh_two(sums, key, a, b, size);
		return NULL;
	}
	return watched_call((struct abi_frame){
		.function = FUNCTION(engine->nh_two),
		.arguments = { WORD(sums), WORD(key), WORD(a), WORD(b),
	                       size } });
}

const char *call_chacha_nh(const struct adiantum_engine *engine,
                           uint32_t state[CHACHA_STATE_WORDS], int rounds,
                           uint8_t *dst, const uint8_t *src, size_t size,
                           uint64_t (*sums)[NH_PASSES],
                           const struct nh_key *key)
{
	if (!abi_watched()) {
		engine->chacha_nh(state, rounds, dst, src, size, sums, key);
		return NULL;
	}
	return watched_call((struct abi_frame){
		.function = FUNCTION(engine->chacha_nh),
		.arguments = { WORD(state), INTEGER(rounds), WORD(dst),
	                       WORD(src), size, WORD(sums), WORD(key) } });
}

const char *call_poly1305(const struct adiantum_engine *engine,
                          struct poly1305_state *state,
                          const struct poly1305_key *key,
                          const uint8_t *blocks, size_t count, uint32_t top)
{
	if (!abi_watched()) {
		engine->poly1305(state, key, blocks, count, top);
		return NULL;
	}
	return watched_call((struct abi_frame){
		.function = FUNCTION(engine->poly1305),
		.arguments = { WORD(state), WORD(key), WORD(blocks), count,
	                       INTEGER(top) } });
}

const char *abi_broken(int n, const char **said)
{
	static char name[8];
	const char *what = name;
	int at = n - 1;

	if (!abi_watched() || at > SAVED + VECTORS + CONTROLS + has_halves())
		return NULL;
	if (at < SAVED)
		what = registers[at];
	else if (at < SAVED + VECTORS)
		snprintf(name, sizeof(name), "d%d", 8 + at - SAVED);
	else if (at < SAVED + VECTORS + CONTROLS)
		what = controls[at - SAVED - VECTORS];
	else if (at == SAVED + VECTORS + CONTROLS)
		what = "caller's part of the stack";
	else
		what = "upper halves";
	*said = watched_call((struct abi_frame){
		.function = FUNCTION(abi_spoil), .arguments = { INTEGER(n) } });
	return what;
}
