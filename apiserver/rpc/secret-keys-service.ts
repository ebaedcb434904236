import type { Logger } from 'pino';
import { encodeMessage } from '../../api/codec/message.ts';
import { ApiError, failedPrecondition } from '../../api/errors/index.ts';
import { decodeStrictly } from '../registry/decode.ts';
import { translateStorageError } from '../registry/storage-errors.ts';
import type { SecretKeys } from '../storage/encryption/secret-keys.ts';
import { StorageError } from '../storage/storage-error.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';

export const SECRET_KEYS_SERVICE = 'berth.server.v1.SecretKeys';

export interface SecretKeysDeps {
  /** Absent where nothing is kept that outlives the process. */
  readonly keys: SecretKeys | undefined;
  readonly log: Logger;
  readonly now: () => Date;
}

/** The keys that Secrets are kept under, for administrators. */
export function secretKeysService({ keys, log, now }: SecretKeysDeps, pipeline: CallPipeline) {
  return {
    definition: serviceDefinition(SECRET_KEYS_SERVICE),
    implementation: {
      Rotate: pipeline.unary((request, context) => {
        decodeStrictly('berth.server.v1.RotateSecretKeyRequest', request, 'request');
        context.authorize({ verb: 'create', kind: 'SecretKey', namespace: '', name: '' });
        if (!keys) throw failedPrecondition('NotSupported', 'this server keeps its objects in memory only: nothing is encrypted');
        return {
          run: async () => {
            try {
              // Not ended by a client that goes: what was begun is carried through.
              const { keyId, rewritten } = await keys.rotate(now());
              const { requestId, identity } = context;
              log.warn({ requestId, user: identity.user, keyId, rewritten }, 'the key of Secrets was rotated');
              return { bytes: encodeMessage('berth.server.v1.RotateSecretKeyResponse', { keyId, rewritten }) };
            } catch (error) {
              throw explain(error);
            }
          },
        };
      }),
    },
  };
}

function explain(error: unknown): unknown {
  if (error instanceof StorageError && error.code === 'busy') return new ApiError('ABORTED', 'Conflict', error.message);
  return translateStorageError(error, { kind: 'SecretKey', name: '' });
}
