import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden } from '../../errors/violations.ts';
import type { EphemeralContainer, Pod, PodSpec } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import type { Violations } from '../checks.ts';
import type { Subresource } from '../kind.ts';
import { isMirror } from './static-pods.ts';

/**
 * The subresource of pods for containers that join a running pod: replaces the list of ephemeral containers, which may
 * only grow.
 */
export const podEphemeralContainers: Subresource<Pod> = {
  method: 'UpdateEphemeralContainers',
  take(sent, previous) {
    const spec: PodSpec = { ...previous.spec };
    delete spec.ephemeralContainers;
    const list = sent.spec?.ephemeralContainers ?? [];
    return { ...previous, spec: list.length === 0 ? spec : { ...spec, ephemeralContainers: list } };
  },
  validate(next, previous) {
    const out: Violations = [];
    const at = 'spec.ephemeralContainers';
    if (isMirror(previous)) out.push(forbidden('metadata', 'static pods do not support ephemeral containers'));
    const list = new Map((next.spec?.ephemeralContainers ?? []).map((each) => [nameOf(each), each]));
    for (const old of previous.spec?.ephemeralContainers ?? []) {
      const now = list.get(nameOf(old));
      if (now === undefined) out.push(forbidden(at, `existing ephemeral containers "${nameOf(old)}" may not be removed`));
      else if (!equalValues(now, old))
        out.push(forbidden(at, `existing ephemeral containers "${nameOf(old)}" may not be changed`));
    }
    return out;
  },
};

function nameOf({ ephemeralContainerCommon }: EphemeralContainer): string {
  return ephemeralContainerCommon?.name ?? '';
}

/** A pod is made without them. */
export function checkNoEphemeral({ spec }: Pod): FieldViolation[] {
  return spec?.ephemeralContainers?.length ? [forbidden('spec.ephemeralContainers', 'cannot be set on create')] : [];
}
