/** Counters of one network interface since it came up. */
export interface InterfaceCounters {
  readonly name: string;
  readonly receivedBytes: number;
  readonly receivedPackets: number;
  readonly receiveErrors: number;
  readonly receiveDropped: number;
  readonly sentBytes: number;
  readonly sentPackets: number;
  readonly transmitErrors: number;
  readonly transmitDropped: number;
}

/** Of a pod there is one; of a machine a few, and one for each pod, which is not read here. */
const mostInterfaces = 1_000;

/**
 * Each interface of /proc/net/dev or /proc/<pid>/net/dev: "name: 8 numbers received, 8 numbers sent". Whatever has no
 * such numbers is left out.
 */
export function parseNetDev(text: string): InterfaceCounters[] {
  const found: InterfaceCounters[] = [];
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    if (colon < 0) continue;
    const numbers = line
      .slice(colon + 1)
      .trim()
      .split(/ +/)
      .map(Number);
    if (numbers.length < 12 || numbers.some(Number.isNaN) || found.length >= mostInterfaces) continue;
    const [receivedBytes, receivedPackets, receiveErrors, receiveDropped] = numbers as [number, number, number, number];
    const [sentBytes, sentPackets, transmitErrors, transmitDropped] = numbers.slice(8) as [number, number, number, number];
    found.push({
      name: line.slice(0, colon).trim(),
      receivedBytes,
      receivedPackets,
      receiveErrors,
      receiveDropped,
      sentBytes,
      sentPackets,
      transmitErrors,
      transmitDropped,
    });
  }
  return found;
}

/** Interfaces through which something comes from outside: all but the loopback. */
export function outward(interfaces: readonly InterfaceCounters[]): InterfaceCounters[] {
  return interfaces.filter(({ name }) => name !== 'lo');
}

export interface Traffic {
  readonly received: number;
  readonly sent: number;
}

export function sumTraffic(interfaces: readonly InterfaceCounters[]): Traffic {
  let received = 0;
  let sent = 0;
  for (const each of interfaces) {
    received += each.receivedBytes;
    sent += each.sentBytes;
  }
  return { received, sent };
}

/** The interface of the default route with the lowest metric, of /proc/net/route. */
export function parseDefaultInterface(route: string): string | undefined {
  let best: { readonly name: string; readonly metric: number } | undefined;
  for (const line of route.split('\n').slice(1)) {
    const [name, destination, , , , , metric, mask] = line.split(/\s+/);
    if (name === undefined || destination !== '00000000' || mask !== '00000000') continue;
    if (best === undefined || Number(metric) < best.metric) best = { name, metric: Number(metric) };
  }
  return best?.name;
}
