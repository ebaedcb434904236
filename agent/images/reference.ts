/** An image reference with everything that was left out of it: "nginx" means docker.io/library/nginx:latest. */
export interface ImageName {
  /** "docker.io", "registry.example.com:5000". */
  readonly domain: string;
  /** Without the domain: "library/nginx". */
  readonly path: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

/** The reference does not follow the grammar of the distribution project; the message says where. */
export class InvalidReferenceError extends Error {}

const label = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domainPattern = new RegExp(`^(?:${label}(?:\\.${label})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?$`);
const component = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const pathPattern = new RegExp(`^${component}(?:/${component})*$`);
const tagPattern = /^\w[\w.-]{0,127}$/;
const digestPattern = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
const digestLengths: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };
const longestName = 255;
const hub = 'docker.io';

/** Reads a reference as Docker and Kubernetes do; throws InvalidReferenceError. */
export function parseImageName(reference: string): ImageName {
  const [named = '', digest, ...more] = reference.split('@');
  if (more.length > 0 || (digest !== undefined && !isDigest(digest))) throw invalid('invalid reference format');
  if (/^[a-f0-9]{64}$/.test(reference)) throw invalid('an id of 64 hexadecimal digits is no name');
  const colon = named.lastIndexOf(':');
  // A colon before a slash belongs to the registry's port.
  const hasTag = colon > named.lastIndexOf('/');
  const tag = hasTag ? named.slice(colon + 1) : undefined;
  const { domain, path } = splitDomain(hasTag ? named.slice(0, colon) : named);
  if (path !== path.toLowerCase()) throw invalid('invalid reference format: repository name must be lowercase');
  if (!domainPattern.test(domain) || !pathPattern.test(path)) throw invalid('invalid reference format');
  if (tag !== undefined && !tagPattern.test(tag)) throw invalid('invalid reference format');
  if (domain.length + 1 + path.length > longestName)
    throw invalid(`repository name must not be more than ${longestName} characters`);
  return { domain, path, tag: tag ?? (digest === undefined ? 'latest' : undefined), digest };
}

/** The repository alone, as credentials are looked up and remembered for: "docker.io/library/nginx". */
export function repositoryOf(name: ImageName): string {
  return `${name.domain}/${name.path}`;
}

/** The canonical form of an image reference. */
export function formatImageName(name: ImageName): string {
  // With both, the digest alone decides.
  return `${repositoryOf(name)}${name.digest === undefined ? `:${name.tag}` : `@${name.digest}`}`;
}

/** The same for a name that the engine gave; undefined for what is none. */
export function canonicalReference(reference: string): string | undefined {
  try {
    return formatImageName(parseImageName(reference));
  } catch (error) {
    if (error instanceof InvalidReferenceError) return undefined;
    throw error;
  }
}

function splitDomain(name: string): { domain: string; path: string } {
  const slash = name.indexOf('/');
  const first = slash < 0 ? '' : name.slice(0, slash);
  const isDomain = /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  if (!isDomain) return { domain: hub, path: slash < 0 ? `library/${name}` : name };
  const domain = first === 'index.docker.io' ? hub : first;
  const path = name.slice(slash + 1);
  return { domain, path: domain === hub && !path.includes('/') ? `library/${path}` : path };
}

function isDigest(digest: string): boolean {
  if (!digestPattern.test(digest)) return false;
  const [algorithm = '', hex = ''] = digest.split(':');
  return hex.length === (digestLengths[algorithm] ?? hex.length);
}

function invalid(message: string): InvalidReferenceError {
  return new InvalidReferenceError(message);
}
