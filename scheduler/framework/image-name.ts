/**
 * The one name of an image that is called by many: "docker.io/library/web", "web" and "web:latest" are "web:latest", as
 * the engine lists it. With a digest the tag means nothing and goes.
 */
export function imageName(reference: string): string {
  const [named = '', digest] = reference.split('@', 2);
  const colon = named.lastIndexOf(':');
  // A colon before a slash belongs to the registry's port.
  const tagged = colon > named.lastIndexOf('/');
  const name = withoutDefaults(tagged ? named.slice(0, colon) : named);
  if (digest !== undefined) return `${name}@${digest}`;
  return `${name}:${tagged ? named.slice(colon + 1) : 'latest'}`;
}

function withoutDefaults(name: string): string {
  for (const registry of ['docker.io/', 'index.docker.io/'])
    if (name.startsWith(registry)) return withoutLibrary(name.slice(registry.length));
  return withoutLibrary(name);
}

function withoutLibrary(name: string): string {
  return name.startsWith('library/') ? name.slice('library/'.length) : name;
}
