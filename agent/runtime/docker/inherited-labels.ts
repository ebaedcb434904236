import { createLru } from '../../../api/meta/lru.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import { engineName, identityOf, type Labels, label } from './labels.ts';
import type { ListEntry } from './observe.ts';

/** More than a machine has images. */
const remembered = 1_000;

/**
 * Tells containers of ours from those that others run on the same engine from an image that brings our labels: an image
 * that was committed from a container of ours has them all, and any author may write them into another. They are not
 * the agent's to adopt, to stop or to remove.
 */
export interface InheritedLabels {
  /** The containers of the list that are ours. */
  without(entries: readonly ListEntry[]): Promise<readonly ListEntry[]>;
}

/** Asks the engine only about images of containers whose name is none that the agent gives: usually of none. */
export function createInheritedLabels(engine: Pick<Engine, 'call'>, nodeName: string): InheritedLabels {
  const known = createLru<boolean>(remembered);

  async function bringsLabels(image: string): Promise<boolean> {
    const told = known.get(image);
    if (told !== undefined) return told;
    const brings = await readLabels(engine, image).then((labels) => labels?.[label.node] === nodeName);
    known.set(image, brings);
    return brings;
  }

  return {
    async without(entries) {
      const isOurs = async (entry: ListEntry) => hasOwnName(entry) || !(await bringsLabels(entry.ImageID));
      const ours = await Promise.all(entries.map(isOurs));
      return entries.filter((_, at) => ours[at]);
    },
  };
}

/** Whether the name is the one that the labels lead to, or that with an ending (`createContainer`). */
function hasOwnName({ Names, Labels: labels }: ListEntry): boolean {
  if (!Names) return true;
  const own = `/${engineName(identityOf(labels ?? {}))}`;
  return Names.some((name) => name === own || name.startsWith(`${own}_`));
}

/** Undefined when the image is gone: then the container, which was renamed, is taken for ours. */
async function readLabels(engine: Pick<Engine, 'call'>, image: string): Promise<Labels | undefined> {
  try {
    const path = `/images/${encodeURIComponent(image)}/json`;
    const call = { method: 'GET', path, action: `find image ${image}`, subject: 'image' } as const;
    const { Config } = await engine.call<{ readonly Config?: { readonly Labels?: Labels | null } | null }>(call);
    return Config?.Labels ?? undefined;
  } catch (error) {
    if (error instanceof RuntimeError && error.code === 'image-not-found') return undefined;
    throw error;
  }
}
