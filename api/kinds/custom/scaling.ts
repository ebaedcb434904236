import type { CustomResourceSubresourceScale } from '../../generated/types.ts';
import { isJsonObject, type JsonObject } from '../../meta/merge-patch.ts';
import type { ApiObject, Scaling } from '../kind.ts';
import { plainPath, valueAt } from './plain-path.ts';

/** How objects are scaled whose numbers of pods stand at paths of their own. */
export function pathScaling(paths: CustomResourceSubresourceScale): Scaling<ApiObject> {
  const [wanted = ['spec', 'replicas'], current = ['status', 'replicas']] = [
    paths.specReplicasPath,
    paths.statusReplicasPath,
  ].map((path) => (path ? plainPath(path) : undefined));
  const selector = paths.labelSelectorPath ? plainPath(paths.labelSelectorPath) : undefined;
  const count = (object: ApiObject, steps: readonly string[]): number => {
    const value = valueAt(object, steps);
    return typeof value === 'number' ? value : 0;
  };
  return {
    read(object) {
      const text = selector && valueAt(object, selector);
      return {
        replicas: count(object, wanted),
        current: count(object, current),
        selector: typeof text === 'string' ? text : '',
      };
    },
    write: (object, replicas) => setAt(object as JsonObject, wanted, replicas),
  };
}

function setAt(object: JsonObject, [first = '', ...rest]: readonly string[], value: number): void {
  if (rest.length === 0) object[first] = value;
  else {
    const inner = isJsonObject(object[first]) ? object[first] : {};
    object[first] = inner;
    setAt(inner, rest, value);
  }
}
