import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionStatus,
  Timestamp,
} from '../../api/generated/types.ts';
import {
  findCondition,
  inUseCondition,
  isEstablished,
  storageVersionOf,
} from '../../api/kinds/custom-resource-definition/meaning.ts';

/** The names that other kinds of a group have. */
export interface TakenNames {
  /** Plural, singular and short names, in one set: a command line may say each. */
  readonly resources: ReadonlySet<string>;
  /** Kinds and kinds of lists. */
  readonly kinds: ReadonlySet<string>;
}

type Said = Omit<CustomResourceDefinitionCondition, 'type' | 'lastTransitionTime'>;

/**
 * The status of a definition: which of its names it gets, whether it is served, and in which versions its objects may
 * be stored. Names that it has it keeps; a kind that was established once stays so. Pure.
 */
export function decideStatus(
  definition: CustomResourceDefinition,
  taken: TakenNames,
  now: Timestamp,
): CustomResourceDefinitionStatus {
  const { spec = {}, status = {} } = definition;
  const { names, conflict } = acceptNames(spec.names ?? {}, status.acceptedNames ?? {}, taken);
  const established = isEstablished(definition);
  const conditions = [
    condition(
      definition,
      'NamesAccepted',
      conflict ?? { status: 'True', reason: 'NoConflicts', message: 'no conflicts found' },
      now,
    ),
    condition(definition, 'Established', establishment(established, conflict !== undefined), now),
  ];
  const others = (status.conditions ?? []).filter(({ type }) => !conditions.some((each) => each.type === type));
  const storage = storageVersionOf(spec)?.name;
  const stored = status.storedVersions ?? [];
  return {
    ...status,
    conditions: [...conditions, ...others],
    acceptedNames: names,
    storedVersions: storage === undefined || stored.includes(storage) ? stored : [...stored, storage],
  };
}

/** The status of a definition whose kind has objects, or had them before. Pure. */
export function noteUse(
  definition: CustomResourceDefinition,
  status: CustomResourceDefinitionStatus,
  now: Timestamp,
): CustomResourceDefinitionStatus {
  const said = { status: 'True', reason: 'ObjectsExist', message: 'objects of the kind were created' };
  const others = (status.conditions ?? []).filter(({ type }) => type !== inUseCondition);
  return { ...status, conditions: [...others, condition(definition, inUseCondition, said, now)] };
}

function establishment(established: boolean, hasConflict: boolean): Said {
  if (established || !hasConflict)
    return { status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' };
  return { status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
}

/** A condition with the time since when it has its status. */
export function condition(
  definition: CustomResourceDefinition,
  type: string,
  said: Said,
  now: Timestamp,
): CustomResourceDefinitionCondition {
  const before = findCondition(definition, type);
  const isSame = before?.status === said.status && before?.lastTransitionTime !== undefined;
  return { type, ...said, lastTransitionTime: isSame ? before.lastTransitionTime! : now };
}

function acceptNames(
  wanted: CustomResourceDefinitionNames,
  before: CustomResourceDefinitionNames,
  { resources, kinds }: TakenNames,
): { readonly names: CustomResourceDefinitionNames; readonly conflict: Said | undefined } {
  const conflicts: { readonly reason: string; readonly message: string }[] = [];
  const accept = (field: 'plural' | 'singular' | 'kind' | 'listKind', taken: ReadonlySet<string>): string | undefined => {
    const name = wanted[field];
    if (name === undefined || !taken.has(name)) return name;
    conflicts.push({ reason: `${field[0]?.toUpperCase()}${field.slice(1)}Conflict`, message: `"${name}" is already in use` });
    return before[field];
  };
  const plural = accept('plural', resources);
  const singular = accept('singular', resources);
  const short = (wanted.shortNames ?? []).filter((name) => resources.has(name));
  if (short.length > 0)
    conflicts.push({ reason: 'ShortNamesConflict', message: short.map((name) => `"${name}" is already in use`).join(', ') });
  const kind = accept('kind', kinds);
  const listKind = accept('listKind', kinds);
  const shortNames = short.length > 0 ? before.shortNames : wanted.shortNames;
  const names = present({ plural, singular, shortNames, kind, listKind, categories: wanted.categories });
  const first = conflicts[0];
  const message = conflicts.map((each) => each.message).join(', ');
  return { names, conflict: first && { status: 'False', reason: first.reason, message } };
}

function present(names: { [K in keyof CustomResourceDefinitionNames]: CustomResourceDefinitionNames[K] | undefined }) {
  return Object.fromEntries(
    Object.entries(names).filter(([, value]) => value !== undefined),
  ) as unknown as CustomResourceDefinitionNames;
}
