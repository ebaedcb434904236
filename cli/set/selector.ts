import { badRequest } from '../../api/errors/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { parseLabelSelector } from '../../api/meta/labels.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';

/** Reads the labels of a selector, "app=web,tier=front": a Service takes nothing else. Throws INVALID_ARGUMENT. */
export function parseSelector(text: string): Record<string, string> {
  const { requirements } = parseLabelSelector(text);
  if (requirements.length === 0) throw badRequest('one selector is required, e.g. app=web');
  return Object.fromEntries(
    requirements.map(({ key, operator, values }) => {
      if (operator !== 'in' || values.length !== 1)
        throw badRequest(`a service is selected by labels alone: "${key}" takes KEY=VALUE`);
      return [key, values[0]!];
    }),
  );
}

/** The strategic patch that replaces the selector of a Service; of the version, if one is named. */
export function selectorPatch(
  kind: Kind,
  labels: Readonly<Record<string, string>>,
  resourceVersion: string | undefined,
): JsonObject {
  if (kind.kind !== 'Service') throw badRequest('setting a selector is only supported for services');
  return {
    ...(resourceVersion && { metadata: { resourceVersion } }),
    spec: { selector: { $patch: 'replace', ...labels } },
  };
}
