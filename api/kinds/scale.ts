import type { Scale } from '../generated/types.ts';
import { ageColumn, nameColumn } from './cells.ts';
import { type ApiObject, defineKind, type Kind } from './kind.ts';
import { countColumn } from './workload-columns.ts';

/** The name of the subresource. */
export const SCALE = 'scale';

/**
 * What the machinery for kinds needs to read, answer and show a Scale. Not in the index: no Scale is stored, each is
 * made of the object that is scaled.
 */
export const scaleKind = defineKind<Scale>()({
  kind: 'Scale',
  apiVersion: 'autoscaling/v1',
  plural: 'scales',
  singular: 'scale',
  shortNames: [],
  namespaced: true,
  message: 'berth.autoscaling.v1.Scale',
  service: '',
  durability: 'synced',
  hasStatus: true,
  nameRule: 'subdomain',
  defaults: () => {},
  validate: () => [],
  validateUpdate: () => [],
  fields: {},
  selectableFields: {},
  columns: [
    nameColumn,
    countColumn('DESIRED', ({ spec }) => spec?.replicas),
    countColumn('AVAILABLE', ({ status }) => status?.replicas),
    ageColumn,
  ],
});

/** The Scale of an object of a kind that has one. */
export function scaleOf<T extends ApiObject>({ scale }: Required<Pick<Kind<T>, 'scale'>>, object: T): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata ?? {};
  const { replicas, current, selector } = scale.read(object);
  const metadata = { name, namespace, uid, resourceVersion, creationTimestamp };
  for (const key of Object.keys(metadata) as (keyof typeof metadata)[]) if (metadata[key] === undefined) delete metadata[key];
  return {
    metadata: metadata as NonNullable<Scale['metadata']>,
    spec: { replicas },
    status: { replicas: current, ...(selector !== '' && { selector }) },
  };
}
