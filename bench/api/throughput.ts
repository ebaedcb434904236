import { encodeMessage } from '../../api/codec/message.ts';
import type { BenchServer } from '../berth.ts';
import { atLeast, type Figure, median, note } from '../figure.ts';
import { compare, getOne, rounds, storedPod, withBare } from './bare.ts';
import { barePath } from './bare-protocol.ts';
import { type Load, type LoadTarget, loadTarget, runLoad } from './h2load.ts';
import { withApiServer } from './lean-connection.ts';
import { typicalPod } from './typical-pod.ts';

/** Calls of one round. */
const creates = 4_000;
const gets = 12_000;
const warmUp = 4_000;

/** Shares of what the bare server does. */
const leastCreates = 0.6;
const leastGets = 0.95;

/**
 * Unary creates and gets of a typical pod, 64 at once over TLS, with the server's processor time for each, beside those
 * of a bare grpc-js and lmdb server under the same load in the same minutes.
 */
export function benchThroughput(say: (text: string) => void): Promise<Figure[]> {
  return withApiServer(async (server) => {
    const object = await storedPod(server);
    return await withBare(server, object, async (bare) => {
      const own = loadTarget(server);
      const request = encodeMessage('berth.core.v1.PodWriteRequest', { object: typicalPod() });
      const costs = new Map<string, number[]>();
      const cost = (path: string): number => median(costs.get(path)!);
      const measure = async (target: LoadTarget, load: Load): Promise<number> => {
        const { rate, cpu } = await runLoad(target, load);
        costs.set(load.path, [...(costs.get(load.path) ?? []), cpu * 1e6]);
        return rate;
      };
      const create = (target: LoadTarget, path: string) => () => measure(target, { path, request, count: creates });
      const get = (target: LoadTarget, path: string) => () => measure(target, { path, request: getOne, count: gets });
      const [createPath, getPath] = ['/berth.core.v1.Pods/Create', '/berth.core.v1.Pods/Get'];
      await runLoad(own, { path: createPath, request, count: warmUp });
      await runLoad(bare.target, { path: barePath.create, request, count: warmUp });
      const created = await compare(create(own, createPath), create(bare.target, barePath.create));
      say(`creates: ${created.own.toFixed(0)}/s, the bare server ${created.bare.toFixed(0)}/s`);
      await expectPods(server, warmUp + rounds * creates + 1);
      await runLoad(own, { path: getPath, request: getOne, count: warmUp });
      await runLoad(bare.target, { path: barePath.get, request: getOne, count: warmUp });
      const read = await compare(get(own, getPath), get(bare.target, barePath.get));
      say(`gets: ${read.own.toFixed(0)}/s, the bare server ${read.bare.toFixed(0)}/s`);
      return [
        note('bytes of the pod as it is sent', encodeMessage('berth.core.v1.Pod', typicalPod()).length, 'bytes'),
        note('bytes of the pod as it is stored and answered', object.length, 'bytes'),
        atLeast('creates, 64 at once, against the bare server', created.ratio, 'x', leastCreates),
        note('creates, 64 at once', created.own, '1/s'),
        note('creates of the bare server', created.bare, '1/s'),
        note("server's processor for a create", cost(createPath), 'microseconds'),
        note("bare server's processor for a create", cost(barePath.create), 'microseconds'),
        atLeast('gets, 64 at once, against the bare server', read.ratio, 'x', leastGets),
        note('gets, 64 at once', read.own, '1/s'),
        note('gets of the bare server', read.bare, '1/s'),
        note("server's processor for a get", cost(getPath), 'microseconds'),
        note("bare server's processor for a get", cost(barePath.get), 'microseconds'),
      ];
    });
  });
}

async function expectPods({ client }: BenchServer, count: number): Promise<void> {
  let [found, token]: [number, string | undefined] = [0, undefined];
  do {
    const page = await client.pods.list({ namespace: 'default', ...(token === undefined ? {} : { continue: token }) });
    found += page.items.length;
    token = page.metadata.continue || undefined;
  } while (token !== undefined);
  if (found !== count) throw new Error(`${found} of ${count} pods were created`);
}
