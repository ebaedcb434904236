import { isNotFound } from '../../api/errors/index.ts';
import type { Secret } from '../../api/generated/types.ts';
import { bootstrapTokenType, readBootstrapToken } from '../../api/kinds/secret/bootstrap-token.ts';
import { objectKey } from '../../api/meta/key.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import type { Client, Clock, Informer, Logger } from '../../client/index.ts';
import { type Controller, changesOf } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { createWakes } from '../wakes.ts';

export interface BootstrapTokensOptions {
  readonly client: Pick<Client['secrets'], 'delete'>;
  /** The secrets that are tokens for joining. */
  readonly tokens: Pick<Informer<Secret>, 'lister' | 'addHandler' | 'waitForSync'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Removes tokens for joining that have expired. They are of no use from that moment on, whether they are there or not.
 */
export function createBootstrapTokens({ client, tokens, clock, logger }: BootstrapTokensOptions): Controller {
  const wakes = createWakes(clock);

  async function reconcile(key: string, signal: AbortSignal): Promise<void> {
    const secret = tokens.lister.get(key);
    const token = secret && readBootstrapToken(secret);
    if (secret === undefined || token?.expiresAt === undefined) return wakes.forget(key);
    const left = token.expiresAt - clock.now();
    if (left > 0) return wakes.at(key, left);
    const { namespace, name = '', uid, resourceVersion } = secret.metadata ?? {};
    try {
      await client.delete({ namespace, name }, { preconditions: { uid, resourceVersion } }, { signal });
      logger.info({ token: token.id }, 'removed a join token that has expired');
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  return { name: 'bootstrap-tokens', sources: [changesOf(tokens, (secret) => [objectKey(secret)]), wakes], reconcile };
}

export const bootstrapTokens: ControllerDefinition = {
  name: 'bootstrap-tokens',
  create({ client, scoped, ...context }) {
    const scope = { namespace: namespaces.system, fieldSelector: `type=${bootstrapTokenType}` };
    return createBootstrapTokens({ ...context, client: client.secrets, tokens: scoped('Secret', scope, 'join tokens') });
  },
};
