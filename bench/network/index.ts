import type { Figure } from '../figure.ts';
import { type Parts, runParts } from '../parts.ts';
import { serviceParts } from '../services/index.ts';
import { benchChange } from './change.ts';
import { benchIdleNetwork } from './idle.ts';
import { benchPodToPod } from './pod-to-pod.ts';
import { benchRollout } from './rollout.ts';
import { benchStart } from './start.ts';

const parts: Parts = {
  name: 'network',
  parts: {
    ...serviceParts,
    start: benchStart,
    direct: benchPodToPod('direct'),
    tunnel: benchPodToPod('tunnel'),
    change: benchChange,
    rollout: benchRollout,
    idle: benchIdleNetwork,
  },
};

/**
 * `npm run bench -- network [PART...]`: what the routed network must hold, against the engine, or what is made by hand,
 * in the same run. Needs root, Docker and the images of hack/images; `direct`, `tunnel`, `change` and `rollout` run on
 * two hosts of hack/cluster. The parts of `services` are among them; names have a benchmark of their own (`names`).
 */
export function benchNetwork(say: (text: string) => void, words: readonly string[]): Promise<Figure[]> {
  return runParts(parts, say, words);
}
