import { encodeMessage } from '../../api/codec/message.ts';
import { TOKEN_ISSUER } from '../authn/accounts/account-tokens.ts';
import { jsonWebKeys, type TokenKeys } from '../authn/accounts/token-keys.ts';
import { decodeStrictly } from '../registry/decode.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';

export const TOKEN_KEYS_SERVICE = 'berth.authentication.v1.TokenKeys';

const MESSAGES = 'berth.authentication.v1';

/** The public keys, for programs that verify service account tokens themselves. */
export function tokenKeysService(keys: TokenKeys, pipeline: CallPipeline, now: () => Date) {
  return {
    definition: serviceDefinition(TOKEN_KEYS_SERVICE),
    implementation: {
      List: pipeline.unary((request, call) => {
        decodeStrictly(`${MESSAGES}.ListTokenKeysRequest`, request, 'request');
        call.authorizePath('/openid/v1/jwks');
        return {
          run: async () => {
            const shown = jsonWebKeys(keys, now());
            return { bytes: encodeMessage(`${MESSAGES}.TokenKeyList`, { issuer: TOKEN_ISSUER, keys: shown }) };
          },
        };
      }),
    },
  };
}
