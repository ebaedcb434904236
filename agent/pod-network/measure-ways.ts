import { createLimit } from '../limit.ts';
import { isReached, type Probe, type ProbeResult } from '../net-check/dns-probe.ts';

/** A way to another node. */
export interface MeasuredWay {
  /** The other node's address in the range of its pods. */
  readonly gateway: string;
  /** Through the tunnel. */
  readonly isTunnelled: boolean;
  /** What is hoped for: what the machine's own interface has room for. In bytes, as all sizes here. */
  readonly most: number;
}

interface MeasureWays {
  readonly ways: readonly MeasuredWay[];
  readonly probe: (probe: Probe) => Promise<ProbeResult>;
  /** What the kernel has learned from routers, by gateway; where it has not, it is absent or as much as the link's. */
  readonly learned: (gateways: readonly string[]) => Promise<ReadonlyMap<string, number>>;
}

/** "damaged": the other node drops what has a checksum that the network card was to finish, and takes all else. */
export type Measured = { readonly mtu: number } | 'silent' | 'damaged';

const probesAtOnce = 32;
const anyName = 'cluster.local';
/** Nothing listens there: the answer is an ICMP message, whose checksum the kernel computes. The port of "discard". */
const closedPort = 9;
/** Every IPv4 host accepts packets of this size (RFC 791). */
const leastPathMtu = 576;
/** How exact the search is where no router says what it has room for. */
const stepBytes = 8;
/** A datagram that is larger than any link here is sent in fragments, with a checksum that the kernel computes. */
const beyond = 100;

/**
 * Asks the resolvers of other nodes with packets of several sizes that may not be fragmented. Each way takes two
 * packets where all is well, and ten where it has room for less and no router says so; 20 s at most. Never throws.
 */
export async function measureWays({ ways, probe, learned }: MeasureWays): Promise<Measured[]> {
  const limit = createLimit(probesAtOnce);
  const passes = async ({ gateway }: MeasuredWay, packetSize: number): Promise<boolean> =>
    isReached(await limit(() => probe({ address: gateway, name: anyName, packetSize })));
  const first = await Promise.all(
    ways.map(async (way) => {
      const small = await passes(way, 0);
      return { way, small, large: small && (await passes(way, way.most)) };
    }),
  );
  const reached = first.filter(({ small }) => small).map(({ way }) => way.gateway);
  const known = reached.length > 0 ? await learned(reached) : new Map<string, number>();
  return Promise.all(
    first.map(async ({ way, small, large }): Promise<Measured> => {
      const { most } = way;
      const asks = (packetSize: number) => passes(way, packetSize);
      if (small) return (await measure({ most, large, learned: known.get(way.gateway) ?? most, asks })) ?? 'silent';
      const knock = (packetSize: number) =>
        limit(() => probe({ address: way.gateway, port: closedPort, name: anyName, packetSize }));
      return way.isTunnelled && (await isDamaged(knock, most + beyond)) ? 'damaged' : 'silent';
    }),
  );
}

interface OneWay {
  readonly most: number;
  /** Whether the largest packet was answered. */
  readonly large: boolean;
  readonly learned: number;
  readonly asks: (packetSize: number) => Promise<boolean>;
}

async function measure({ most, large, learned, asks }: OneWay): Promise<{ mtu: number } | undefined> {
  const isLess = learned < most;
  // Once the kernel knows of less it sends larger packets in fragments, which says nothing.
  if (!isLess && large) return { mtu: most };
  if (isLess && (await asks(learned))) return { mtu: learned };
  let [good, bad] = [leastPathMtu, Math.min(most, learned)];
  if (bad <= good || !(await asks(good))) return undefined;
  while (bad - good > stepBytes) {
    const middle = Math.floor((good + bad) / 2);
    if (await asks(middle)) good = middle;
    else bad = middle;
  }
  return { mtu: good };
}

/** A small packet's checksum is left to the network card; that of one in fragments is not. */
async function isDamaged(knock: (packetSize: number) => Promise<ProbeResult>, fragmented: number): Promise<boolean> {
  for (const [packetSize, expected] of [
    [0, 'silent'],
    [fragmented, 'refused'],
    [0, 'silent'],
  ] as const)
    if ((await knock(packetSize)).result !== expected) return false;
  return true;
}
