import type { Kind } from '../../api/kinds/kind.ts';
import type { Growing } from '../../api/meta/growing-set.ts';
import { connect } from '../../client/index.ts';
import { type RunControllersOptions, runControllers } from '../../controllers/main.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { type RunningServer, readPair } from './apiserver-harness.ts';

/** Runs all controllers in this process; stops them. */
export async function startControllers(
  server: RunningServer,
  otherKinds?: Growing<Kind>,
  settings: Pick<RunControllersOptions, 'clusterCidr'> = {},
): Promise<() => Promise<void>> {
  const { address, ca } = server.info;
  const client = connect({ address, ca, ...(await readPair(server.dataDir, 'controllers')) });
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
