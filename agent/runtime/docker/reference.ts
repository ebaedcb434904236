/** An image reference taken apart: "registry:5000/team/app:1@sha256:..." has a colon in each of three meanings. */
export interface ImageReference {
  readonly name: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

export function splitReference(reference: string): ImageReference {
  const [named = '', digest] = reference.split('@', 2);
  const colon = named.lastIndexOf(':');
  // A colon before a slash belongs to the registry's port.
  const hasTag = colon > named.lastIndexOf('/');
  return { name: hasTag ? named.slice(0, colon) : named, tag: hasTag ? named.slice(colon + 1) : undefined, digest };
}
