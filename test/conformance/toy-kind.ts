import { messageType } from '../../api/codec/descriptors.ts';
import { definePackage } from '../../api/codec/message-shapes.ts';
import { required } from '../../api/errors/violations.ts';
import type { ObjectMeta } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { metadataFields } from '../../api/kinds/metadata-fields.ts';

/**
 * A kind that no program of Berth knows: its messages as a user's .proto would declare them, and its descriptor. No
 * handler code.
 */
export interface Toy {
  metadata?: ObjectMeta;
  spec?: { color?: string; wheels?: number };
  status?: { conditions?: { type?: string; status?: string }[] };
}

const field = (type: string, id: number, more: object = {}) => ({ type, id, ...more });
const write = { fields: { object: field('Toy', 1), options: field('berth.meta.v1.WriteOptions', 2) } };
const method = (requestType: string, responseType: string, responseStream = false) => ({
  requestType,
  responseType,
  responseStream,
});

const service = {
  methods: {
    Create: method('ToyWriteRequest', 'Toy'),
    Get: method('berth.meta.v1.GetRequest', 'Toy'),
    List: method('berth.meta.v1.ListRequest', 'ToyList'),
    Watch: method('berth.meta.v1.WatchRequest', 'ToyWatchResponse', true),
    Update: method('ToyWriteRequest', 'Toy'),
    UpdateStatus: method('ToyWriteRequest', 'Toy'),
    Patch: method('berth.meta.v1.PatchRequest', 'Toy'),
    Delete: method('berth.meta.v1.DeleteRequest', 'Toy'),
    DeleteCollection: method('berth.meta.v1.DeleteCollectionRequest', 'berth.meta.v1.DeleteCollectionResponse'),
  },
};

const nested = {
  Toy: { fields: { metadata: field('berth.meta.v1.ObjectMeta', 1), spec: field('ToySpec', 2), status: field('ToyStatus', 3) } },
  ToySpec: { fields: { color: field('string', 1), wheels: field('int32', 2) } },
  ToyStatus: { fields: { conditions: field('berth.meta.v1.Condition', 1, { rule: 'repeated' }) } },
  ToyList: { fields: { metadata: field('berth.meta.v1.ListMeta', 1), items: field('Toy', 2, { rule: 'repeated' }) } },
  ToyWriteRequest: write,
  ToyWatchEvent: { fields: { type: field('string', 1), object: field('Toy', 2) } },
  ToyWatchResponse: { fields: { events: field('ToyWatchEvent', 1, { rule: 'repeated' }) } },
  Toys: service,
  Leases: service,
};

/** Adds the toy's messages to those of the API; once for each process. */
export function registerToy(): void {
  const { root } = messageType('berth.meta.v1.ObjectMeta');
  if (root.lookup('example.toys.v1.Toy')) return;
  root.define('example.toys.v1', nested).resolveAll();
  definePackage('example.toys.v1', nested);
}

export const toy: Kind<Toy> = {
  kind: 'Toy',
  apiVersion: 'toys.example.com/v1',
  plural: 'toys',
  singular: 'toy',
  shortNames: [],
  namespaced: true,
  message: 'example.toys.v1.Toy',
  service: 'example.toys.v1.Toys',
  durability: 'synced',
  hasStatus: true,
  nameRule: 'subdomain',
  defaults(object) {
    object.spec = { wheels: 4, ...object.spec };
  },
  validate: (object) => (object.spec?.color ? [] : [required('spec.color')]),
  validateUpdate: () => [],
  fields: metadataFields,
  selectableFields: { 'spec.color': (object) => object.spec?.color ?? '' },
  columns: [{ name: 'COLOR', type: 'string', priority: 0, cell: (object) => object.spec?.color ?? '' }],
};

/** A kind with the name and the plural of one of Berth's own, in another group. */
export const namesake: Kind<Toy> = {
  ...toy,
  kind: 'Lease',
  plural: 'leases',
  singular: 'lease',
  service: 'example.toys.v1.Leases',
};
