import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '../../api/generated/types.ts';
import { findCondition } from '../../api/kinds/custom-resource-definition/meaning.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import { kinds } from '../../api/kinds/index.ts';
import type { TakenNames } from './names.ts';

/** What of a definition matters to others. */
interface Outline {
  readonly group: string;
  readonly accepted: CustomResourceDefinitionNames;
  readonly isRefused: boolean;
  readonly isTerminating: boolean;
}

/** The names of all definitions, without their schemas. */
export class DefinitionTable {
  readonly #outlines = new Map<string, Outline>();

  put(definition: CustomResourceDefinition): void {
    const { metadata, spec, status } = definition;
    this.#outlines.set(metadata?.name ?? '', {
      group: spec?.group ?? '',
      accepted: status?.acceptedNames ?? {},
      isRefused: findCondition(definition, 'NamesAccepted')?.status === 'False',
      isTerminating: metadata?.deletionTimestamp !== undefined,
    });
  }

  /** Gives the definitions of the same group that did not get all their names. */
  remove(name: string): string[] {
    const gone = this.#outlines.get(name);
    this.#outlines.delete(name);
    return [...this.#outlines].flatMap(([other, { group, isRefused }]) => (isRefused && group === gone?.group ? [other] : []));
  }

  isTerminating(name: string): boolean {
    return this.#outlines.get(name)?.isTerminating ?? false;
  }

  /** The names that a definition cannot have: those of the others of its group, and of Berth's own kinds there. */
  takenBy(name: string): TakenNames {
    const group = this.#outlines.get(name)?.group ?? '';
    const [resources, taken] = [new Set<string>(), new Set<string>()];
    const add = ({ plural, singular, shortNames = [], kind, listKind }: CustomResourceDefinitionNames): void => {
      for (const each of [plural, singular, ...shortNames]) if (each) resources.add(each);
      for (const each of [kind, listKind]) if (each) taken.add(each);
    };
    for (const [other, { accepted, ...outline }] of this.#outlines) if (other !== name && outline.group === group) add(accepted);
    for (const { apiVersion, kind, plural, singular, shortNames } of kinds)
      if (groupOf(apiVersion) === group) add({ plural, singular, shortNames: [...shortNames], kind, listKind: `${kind}List` });
    return { resources, kinds: taken };
  }
}
