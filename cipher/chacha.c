/* The states of ChaCha and XChaCha; the keystream itself is an engine's work. */
#include <openssl/crypto.h>

#include "cipher/bytes.h"
#include "cipher/chacha.h"
#include "cipher/engine.h"

void xchacha_init(uint32_t state[CHACHA_STATE_WORDS],
                  const uint32_t key[CHACHA_KEY_WORDS],
                  const uint8_t nonce[XCHACHA_NONCE], uint64_t counter,
                  int rounds)
{
	uint32_t subkey[1][CHACHA_KEY_WORDS];

	engine_current()->hchacha(subkey, key, nonce, 1, rounds);
	chacha_init(state, subkey[0], load64(nonce + HCHACHA_NONCE), counter);
	OPENSSL_cleanse(subkey, sizeof(subkey));
}
