import type { Kind } from '../../api/kinds/kind.ts';
import type { Growing } from '../../api/meta/growing-set.ts';
import { controlPlane } from '../../apiserver/main.ts';
import { connectOver } from '../../client/index.ts';
import { type RunControllersOptions, runControllers } from '../../controllers/main.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import type { RunningServer } from './apiserver-harness.ts';

/** Runs all controllers in the server's process, as `berth server` does; stops them. */
export async function startControllers(
  server: Pick<RunningServer, 'info'>,
  otherKinds?: Growing<Kind>,
  settings: Pick<RunControllersOptions, 'clusterCidr'> = {},
): Promise<() => Promise<void>> {
  const { address, channel } = server.info;
  const caller = { identity: { user: controlPlane.controllers, groups: [] }, userAgent: 'berth-controllers' };
  const client = connectOver(channel(caller), { address });
  const stop = new AbortController();
  const running = runControllers(
    { ...settings, client, logger: createFakeLogger(), ...(otherKinds && { otherKinds }) },
    stop.signal,
  ).finally(() => client.close());
  return async () => {
    stop.abort();
    await running;
  };
}
