import type { Container } from '../../api/generated/types.ts';
import type { NodeTable } from '../cache/node-table.ts';
import { imageName } from '../framework/image-name.ts';
import { definePlugin, maxScore, proceed, skip } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';

/** An image of the pod that some nodes have. */
interface PresentImage {
  readonly name: string;
  readonly sizes: Float64Array;
  /** How much of its size counts: the part of the nodes that have it. */
  readonly spread: number;
}

interface State {
  readonly images: readonly PresentImage[];
  /** Bytes that score 100. */
  readonly most: number;
}

/**
 * Kubernetes' figures. Less than 23 MiB is fetched in no time;
 * beyond 1000 MiB for each container more makes no difference.
 */
const leastBytes = 23 * 1024 ** 2;
const mostBytesPerContainer = 1000 * 1024 ** 2;

/**
 * Prefers nodes that have the pod's images already, by their size. A size counts by the part of all nodes that have the
 * image, so that the only node with a new image does not get every pod that uses it. Nodes tell their 50 largest images
 * once a minute, so a fresh one is known a little later.
 */
export const imageLocality = definePlugin<State>({
  name: 'ImageLocality',
  prepare({ pod, nodes }) {
    const containers = containersOf(pod);
    const images = containers.flatMap(({ image = '' }) => presentImage(nodes, imageName(image)));
    if (images.length === 0) return skip;
    const shape = JSON.stringify([containers.length, images.map(({ name, spread }) => [name, spread])]);
    return proceed({ images, most: containers.length * mostBytesPerContainer }, { shape });
  },
  score({ images, most }, _, rows, scores) {
    scores.fill(0);
    // Image by image, because a loop over few images in the loop over many nodes costs three times as much.
    for (const { sizes, spread } of images) for (let i = 0; i < rows.length; i++) scores[i]! += sizes[rows[i]!]! * spread;
    const perByte = maxScore / (most - leastBytes);
    for (let i = 0; i < scores.length; i++) scores[i] = Math.max(0, Math.min(scores[i]!, most) - leastBytes) * perByte;
  },
});

function containersOf({ pod: { spec } }: PodInfo): readonly Container[] {
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
}

/** Empty for an image that is on no node or on every node: it does not distinguish nodes. */
function presentImage(nodes: NodeTable, name: string): PresentImage[] {
  const column = nodes.image(name);
  return !column || column.nodes === nodes.count ? [] : [{ name, sizes: column.sizes, spread: column.nodes / nodes.count }];
}
