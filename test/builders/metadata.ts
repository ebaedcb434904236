import type { ObjectMeta, Quantity } from '../../api/generated/types.ts';

/** Amounts by resource name, as written in a manifest: {cpu: '100m', memory: '64Mi'}. */
export type Resources = Readonly<Record<string, string>>;

export function quantities(resources: Resources): Record<string, Quantity> {
  return Object.fromEntries(Object.entries(resources).map(([name, string]) => [name, { string }]));
}

/** Metadata as the server would have stamped it; the uid is made from the name so that tests can name it. */
export function metadata(given: ObjectMeta): ObjectMeta {
  return { uid: `uid-${given.name}`, creationTimestamp: { seconds: Date.UTC(2026, 0, 1) / 1000 }, ...given };
}

export function setMetadata(object: { metadata?: ObjectMeta }, part: ObjectMeta): void {
  object.metadata = { ...object.metadata, ...part };
}
