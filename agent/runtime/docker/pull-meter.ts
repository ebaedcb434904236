import type { PullProgress } from '../runtime.ts';

/** A line of the engine's about a pull, as far as it is read here. */
export interface PullStep {
  readonly status?: string;
  /** The layer, shortened; of the first line the tag. */
  readonly id?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number } | null;
}

interface Layer {
  state: 'asking' | 'queued' | 'downloading' | 'unpacking' | 'done';
  current: number;
  total: number;
}

// The engine's words for the state of a layer; a line with others ("Pulling from ...", "Retrying in 5 seconds")
// changes none.
const states: Readonly<Record<string, Layer['state']>> = {
  'Pulling fs layer': 'asking',
  Waiting: 'queued',
  Downloading: 'downloading',
  'Verifying Checksum': 'unpacking',
  'Download complete': 'unpacking',
  Extracting: 'unpacking',
  'Pull complete': 'done',
  'Already exists': 'done',
};

/** Adds up the steps of one pull. */
export function createPullMeter(): { add(step: PullStep): PullProgress } {
  const layers = new Map<string, Layer>();
  return {
    add({ status = '', id = '', progressDetail }) {
      const state = states[status];
      if (state !== undefined) {
        const layer = layers.get(id) ?? { state, current: 0, total: 0 };
        layers.set(id, layer);
        layer.state = state;
        if (state === 'downloading') {
          layer.current = progressDetail?.current ?? layer.current;
          layer.total = Math.max(layer.total, progressDetail?.total ?? 0, layer.current);
        } else if (state === 'unpacking' || state === 'done') layer.current = layer.total;
      }
      return sumOf([...layers.values()]);
    },
  };
}

function sumOf(layers: readonly Layer[]): PullProgress {
  const left = layers.filter(({ state }) => state !== 'done');
  return {
    phase: phaseOf(left),
    layersDone: layers.length - left.length,
    layers: layers.length,
    bytesDone: layers.reduce((sum, { current }) => sum + current, 0),
    bytes: layers.reduce((sum, { total }) => sum + total, 0),
  };
}

/** What the registry is waited for counts before what the engine is. */
function phaseOf(left: readonly Layer[]): PullProgress['phase'] {
  const has = (state: Layer['state']) => left.some((layer) => layer.state === state);
  if (has('downloading')) return 'downloading';
  if (has('asking')) return 'asking';
  // Layers are unpacked in their order: with one that waits for its download the rest wait too.
  if (has('queued')) return 'queued';
  return has('unpacking') ? 'unpacking' : 'asking';
}
