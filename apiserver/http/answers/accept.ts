import { ApiError } from '../../../api/errors/index.ts';

/** In what form a client wants its answer. */
export interface Wanted {
  readonly type: 'json' | 'protobuf' | 'yaml';
  /** Absent: objects as they are. */
  readonly as?: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  /** Of what it is answered as; absent: v1. The older one is the same but for its name. */
  readonly metaVersion?: 'v1beta1';
}

/** What tables and objects of metadata alone say that they are. */
export const metaApiVersion = ({ metaVersion }: Wanted): string => `meta.k8s.io/${metaVersion ?? 'v1'}`;

export const contentTypes: Readonly<Record<Wanted['type'], string>> = {
  json: 'application/json',
  protobuf: 'application/vnd.kubernetes.protobuf',
  yaml: 'application/yaml',
};

const forms: ReadonlyMap<string, Wanted['type']> = new Map([
  ['application/json', 'json'],
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
  ['application/yaml', 'yaml'],
  ['application/*', 'json'],
  ['*/*', 'json'],
]);
/** A header names some ten forms; nothing reads further. */
const mostForms = 32;

/** What there is for an answer, besides JSON. */
interface Possible {
  readonly transform: boolean;
  readonly protobuf: boolean;
  readonly yaml?: boolean;
}

interface Candidate extends Wanted {
  readonly quality: number;
}

/**
 * The first form of the header Accept that the server can make, those of a higher quality first. `may` says which
 * transformations there are for this answer. Throws NOT_ACCEPTABLE.
 */
export function negotiate(accept: string | undefined, may: Possible): Wanted {
  if (!accept?.trim()) return { type: 'json' };
  const known = negotiated[(may.transform ? 1 : 0) + (may.protobuf ? 2 : 0) + (may.yaml === false ? 4 : 0)]!;
  let wanted = known.get(accept);
  if (!wanted) {
    wanted = choose(accept, may);
    if (known.size < MOST_KEPT && accept.length <= MOST_KEPT_LENGTH) known.set(accept, wanted);
  }
  return wanted;
}

/**
 * What was chosen for the headers that came first, by what there is for the answer: clients send the same ones again
 * and again.
 */
const negotiated = Array.from({ length: 8 }, () => new Map<string, Wanted>());
const MOST_KEPT = 50;
const MOST_KEPT_LENGTH = 300;

function choose(accept: string, may: Possible): Wanted {
  const wanted = accept
    .split(',', mostForms)
    .flatMap((text) => candidateOf(text))
    .filter(({ type, as, quality }) => {
      if (quality === 0) return false;
      if (as !== undefined)
        return may.transform && type !== 'yaml' && !(type === 'protobuf' && (as === 'Table' || !may.protobuf));
      return type === 'protobuf' ? may.protobuf : type !== 'yaml' || may.yaml !== false;
    })
    .sort((a, b) => b.quality - a.quality);
  const [best] = wanted;
  if (!best) throw notAcceptable(accept, may);
  const { quality: _, ...form } = best;
  return form;
}

/** Whether an error is answered as protobuf: what the client accepts first. An unreadable header means JSON. */
export function prefersProtobuf(accept: string | undefined): boolean {
  if (!accept?.includes('protobuf')) return false;
  try {
    return negotiate(accept, { transform: true, protobuf: true }).type === 'protobuf';
  } catch {
    return false;
  }
}

function notAcceptable(accept: string, { protobuf, yaml }: { readonly protobuf: boolean; readonly yaml?: boolean }): ApiError {
  const types = Object.values(contentTypes)
    .filter((type) => (type === contentTypes.protobuf ? protobuf : type !== contentTypes.yaml || yaml !== false))
    .join(', ');
  const message = `the answer can be ${types}, none of which "${accept.slice(0, 200)}" accepts`;
  const parts = { of: 'text', message: `only the following media types are accepted: ${types}` } as const;
  return new ApiError('INVALID_ARGUMENT', 'NotAcceptable', message, { parts });
}

function candidateOf(text: string): Candidate[] {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim());
  const type = forms.get(name.toLowerCase());
  if (type === undefined) return [];
  const given = new Map(parameters.map((each) => each.split('=', 2).map((word) => word.trim()) as [string, string]));
  const quality = given.has('q') ? Number(given.get('q')) : 1;
  const as = given.get('as');
  if (as === undefined) return [{ type, quality }];
  const version = given.get('v');
  const isMeta = given.get('g') === 'meta.k8s.io' && (version === 'v1' || version === 'v1beta1');
  if (!isMeta || (as !== 'Table' && as !== 'PartialObjectMetadata' && as !== 'PartialObjectMetadataList')) return [];
  return [{ type, as, quality, ...(version === 'v1beta1' && { metaVersion: version }) }];
}
