import type { CustomResourceDefinition } from '../api/generated/types.ts';
import { customKind } from '../api/kinds/custom/custom-kind.ts';
import { isEstablished, isInUse, servedVersionsOf } from '../api/kinds/custom-resource-definition/meaning.ts';
import type { Kind } from '../api/kinds/kind.ts';
import type { Informer } from '../client/index.ts';

export interface CustomKindsListener {
  came(kind: Kind): void;
  /** There are objects of the kind, or were; told once, after `came`. */
  used(kind: Kind): void;
  /** The definition was deleted, and all objects of the kind before it. */
  left(kind: Kind): void;
}

interface Known {
  readonly uid: string | undefined;
  readonly kind: Kind;
  isUsed: boolean;
}

/**
 * Tells of the kinds that definitions add. A kind is there from the moment that its definition is established until the
 * definition goes, as at the server, which removes its objects first. A kind whose preferred version changes leaves and
 * comes again. One that is not served for a time stays: its objects exist.
 */
export function followDefinitions(
  informer: Pick<Informer<CustomResourceDefinition>, 'addHandler'>,
  { came, used, left }: CustomKindsListener,
): void {
  const known = new Map<string, Known>();

  function forget(name: string): void {
    const before = known.get(name);
    known.delete(name);
    if (before) left(before.kind);
  }

  function note(definition: CustomResourceDefinition): void {
    const { name = '', uid } = definition.metadata ?? {};
    const before = known.get(name);
    if (before && before.uid !== uid) forget(name);
    const kind = servedKind(definition);
    if (kind && known.get(name)?.kind.apiVersion !== kind.apiVersion) {
      forget(name);
      known.set(name, { uid, kind, isUsed: false });
      came(kind);
    }
    noteUse(known.get(name), definition);
  }

  function noteUse(each: Known | undefined, definition: CustomResourceDefinition): void {
    if (!each || each.isUsed || !isInUse(definition)) return;
    each.isUsed = true;
    used(each.kind);
  }

  informer.addHandler({
    name: 'custom kinds',
    onAdd: note,
    onUpdate: note,
    onDelete: ({ metadata }) => forget(metadata?.name ?? ''),
  });
}

/** In its preferred version, as far as clients need it; undefined while the kind is not served. Pure. */
function servedKind(definition: CustomResourceDefinition): Kind | undefined {
  const [version] = servedVersionsOf(definition.spec);
  return version && isEstablished(definition) ? customKind(definition, version) : undefined;
}
