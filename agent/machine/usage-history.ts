/** What is kept for plots, in the order of the values that `add` takes; the unit of each. */
export const nodeSeries = {
  cpu: 'cores',
  memory: 'bytes',
  networkReceive: 'bytes/s',
  networkTransmit: 'bytes/s',
  diskRead: 'bytes/s',
  diskWrite: 'bytes/s',
  cpuPressure: 'ratio',
  memoryPressure: 'ratio',
  ioPressure: 'ratio',
} as const;
export const podSeries = { networkReceive: 'bytes/s', networkTransmit: 'bytes/s' } as const;
export const containerSeries = {
  cpu: 'cores',
  memory: 'bytes',
  diskRead: 'bytes/s',
  diskWrite: 'bytes/s',
  cpuThrottled: 'ratio',
  cpuPressure: 'ratio',
  memoryPressure: 'ratio',
  ioPressure: 'ratio',
} as const;

/** An hour of samples that are taken every 15 s. */
export const historySlots = 240;
/**
 * Of pods and containers together, those that have ended within the hour included; more are not kept.
 * 110 pods of a few containers fit well.
 */
const mostTracks = 1_000;

/**
 * The last hour of what a node, its pods and its containers used. One ring of moments, and for each of them a ring of
 * numbers with the same positions: 4 bytes a number, 7.7 KB a container, 1.9 KB a pod, whatever happens. NaN is what
 * was not known.
 */
export interface UsageHistory {
  /** Begins a sample: what is added afterwards belongs to it. */
  begin(atMs: number): void;
  /** One track's values, in the order of its series. `key` is "" for the node, a pod's uid, or "<uid>/<container>". */
  add(key: string, values: ArrayLike<number>): void;
  /** The moments that are kept, the oldest first, in milliseconds since the epoch. */
  moments(): number[];
  /** Values of one series at these moments; undefined when there is no such track. */
  values(key: string, series: number): number[] | undefined;
  /** The keys that begin with this text, in the order of their appearance. */
  keys(prefix: string): string[];
  /** What all rings hold, in bytes. */
  readonly bytes: number;
}

interface Track {
  /** Series after series, `historySlots` numbers each. */
  readonly rings: Float32Array;
  lastSample: number;
}

export function createUsageHistory(): UsageHistory {
  const times = new Float64Array(historySlots);
  const tracks = new Map<string, Track>();
  /** Samples so far; the last one is at slot (samples - 1) % historySlots. */
  let samples = 0;

  const order = (): number[] => {
    const kept = Math.min(samples, historySlots);
    return Array.from({ length: kept }, (_, i) => (samples - kept + i) % historySlots);
  };

  function dropOld(): void {
    for (const [key, { lastSample }] of tracks) if (samples - lastSample >= historySlots) tracks.delete(key);
  }

  function trackOf(key: string, series: number): Track | undefined {
    const known = tracks.get(key);
    if (known !== undefined) return known;
    if (tracks.size >= mostTracks) return undefined;
    const made = { rings: new Float32Array(series * historySlots).fill(Number.NaN), lastSample: samples };
    tracks.set(key, made);
    return made;
  }

  return {
    begin(atMs) {
      const slot = samples % historySlots;
      times[slot] = atMs;
      samples++;
      for (const { rings } of tracks.values()) for (let at = slot; at < rings.length; at += historySlots) rings[at] = Number.NaN;
      dropOld();
    },
    add(key, values) {
      const track = trackOf(key, values.length);
      if (track === undefined) return;
      const slot = (samples - 1) % historySlots;
      for (let series = 0; series < values.length; series++) track.rings[series * historySlots + slot] = values[series]!;
      track.lastSample = samples;
    },
    moments: () => order().map((slot) => times[slot]!),
    values(key, series) {
      const rings = tracks.get(key)?.rings;
      return rings && order().map((slot) => rings[series * historySlots + slot]!);
    },
    keys: (prefix) => [...tracks.keys()].filter((key) => key.startsWith(prefix)),
    get bytes() {
      let sum = times.byteLength;
      for (const { rings } of tracks.values()) sum += rings.byteLength;
      return sum;
    },
  };
}
