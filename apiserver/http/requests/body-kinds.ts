import type { Kind } from '../../../api/kinds/kind.ts';

/** What the machinery for kinds needs to read and answer a body that is no stored object. */
export function bodyKind(names: Pick<Kind, 'kind' | 'apiVersion' | 'message' | 'confidential'>): Kind {
  const { kind } = names;
  return {
    ...names,
    plural: `${kind.toLowerCase()}s`,
    singular: kind.toLowerCase(),
    shortNames: [],
    namespaced: false,
    service: '',
    durability: 'synced',
    hasStatus: false,
    nameRule: 'path',
    defaults: () => {},
    validate: () => [],
    validateUpdate: () => [],
    fields: {},
    selectableFields: {},
    columns: [],
  };
}
