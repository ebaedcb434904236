import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { Tree } from '../describe/json.ts';
import { splitChanges } from '../write/metadata-change.ts';
import { containerNames, patchContainers, selectContainers } from './containers.ts';

/** What "deployment web main=nginx:1 side=busybox" says: objects, and an image for each container; * is every one. */
export function parseImages(words: readonly string[]): {
  readonly objects: readonly string[];
  readonly images: ReadonlyMap<string, string>;
} {
  const { objects, change } = splitChanges(words);
  const [removed] = change.remove;
  if (removed !== undefined) throw badRequest(`an image cannot be removed: "${removed}-" is not CONTAINER=IMAGE`);
  if (change.set.size === 0) throw badRequest('say which image: CONTAINER=IMAGE, or *=IMAGE for all containers');
  const [empty] = [...change.set].find(([, image]) => image === '') ?? [];
  if (empty !== undefined) throw badRequest(`"${empty}=" has no image`);
  if (change.set.size > 1 && change.set.has('*'))
    throw badRequest('all containers are already specified by *, but saw more than one CONTAINER=IMAGE');
  return { objects, images: change.set };
}

/** The strategic patch of a pod spec. Throws INVALID_ARGUMENT for a container that is not there. */
export function imagePatch(podSpec: Tree, images: ReadonlyMap<string, string>): JsonObject {
  return patchContainers(
    [...images].flatMap(([name, image]) => {
      // A name is no pattern here, but for the one that means all.
      const found = selectContainers(podSpec, '*').filter(({ container }) => name === '*' || container.name === name);
      if (found.length === 0)
        throw badRequest(`unable to find container named "${name}"; there are ${containerNames(podSpec) || 'none'}`);
      return found.map((each) => [each, { image }] as const);
    }),
  );
}
