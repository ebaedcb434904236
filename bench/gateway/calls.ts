import { toJson } from '../../api/codec/json.ts';
import { encodeMessage } from '../../api/codec/message.ts';
import { pod } from '../../api/kinds/pod/kind.ts';
import { getOne, storedPod } from '../api/bare.ts';
import { type Load, type LoadResult, loadTarget, runLoad } from '../api/h2load.ts';
import { typicalPod } from '../api/typical-pod.ts';
import { atLeast, type Figure, median, note } from '../figure.ts';
import { type BothDoors, withBothDoors } from './both-doors.ts';

const rounds = 5;
const creates = 3_000;
const gets = 8_000;
const warmUp = 3_000;
/** A share of what the gRPC door does in the same run. */
const leastCalls = 0.75;

/** Calls in a second over either door, from h2load. */
export function benchCalls(say: (text: string) => void): Promise<Figure[]> {
  return withBothDoors(async (doors) => {
    await storedPod(doors.berth);
    const pods = '/api/v1/namespaces/default/pods';
    const none = Buffer.alloc(0);
    const object = Buffer.from(JSON.stringify(toJson(pod, typicalPod())));
    const request = encodeMessage('berth.core.v1.PodWriteRequest', { object: typicalPod() });
    const read = await compared(
      doors,
      { path: `${pods}/one`, request: none, count: gets, isJson: true },
      { path: '/berth.core.v1.Pods/Get', request: getOne, count: gets },
    );
    say(`gets: ${described(read)}`);
    const made = await compared(
      doors,
      { path: pods, request: object, count: creates, isJson: true },
      { path: '/berth.core.v1.Pods/Create', request, count: creates },
    );
    say(`creates: ${described(made)}`);
    return [
      atLeast('JSON gets, 64 at once, to gRPC', read.ratio, 'x', leastCalls),
      note('JSON gets', read.http.rate, '1/s'),
      note("server's processor for a JSON get", read.http.cpu * 1e6, 'microseconds'),
      atLeast('JSON creates, 64 at once, to gRPC', made.ratio, 'x', leastCalls),
      note('JSON creates', made.http.rate, '1/s'),
      note("server's processor for a JSON create", made.http.cpu * 1e6, 'microseconds'),
    ];
  });
}

interface Rates {
  readonly http: LoadResult;
  readonly grpc: LoadResult;
  /** The median of the rounds' ratios. */
  readonly ratio: number;
}

const described = ({ http, grpc, ratio }: Rates): string =>
  `${http.rate.toFixed(0)}/s with ${(http.cpu * 1e6).toFixed(0)} us, ` +
  `gRPC ${grpc.rate.toFixed(0)}/s with ${(grpc.cpu * 1e6).toFixed(0)} us: ${ratio.toFixed(2)}`;

/** In turns, so that a machine that drifts is the same for both. */
async function compared({ berth, http: { address } }: BothDoors, http: Load, grpc: Load): Promise<Rates> {
  const own = loadTarget(berth);
  const door = { ...own, address };
  await runLoad(door, { ...http, count: warmUp });
  await runLoad(own, { ...grpc, count: warmUp });
  const [others, ours]: [LoadResult[], LoadResult[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) ours.push(await runLoad(door, http));
    others.push(await runLoad(own, grpc));
    if (round % 2 === 1) ours.push(await runLoad(door, http));
  }
  return { http: middle(ours), grpc: middle(others), ratio: median(ours.map(({ rate }, at) => rate / others[at]!.rate)) };
}

const middle = (results: readonly LoadResult[]): LoadResult => ({
  rate: median(results.map(({ rate }) => rate)),
  cpu: median(results.map(({ cpu }) => cpu)),
});
