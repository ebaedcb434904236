import { createHash } from 'node:crypto';
import { ApiError } from '../../../api/errors/index.ts';
import type { ExtensionDocuments } from '../../aggregation/extension-documents.ts';
import { compressed, type DocumentForm, decompressed, type OpenApiDocuments } from '../../openapi/documents.ts';
import { jsonAnswer, type PathAnswer, type PathQuestion, withTag } from './path-answer.ts';

/** The names of gnostic's form of a version of OpenAPI, and the one of the answer: with an "@" it is no media type. */
interface GnosticNames {
  readonly accepted: readonly string[];
  readonly answer: string;
}

const gnosticV2: GnosticNames = {
  accepted: [
    'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
    'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
    'application/com.github.googleapis.gnostic.openapiv2@68f4ded+protobuf',
  ],
  answer: 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
};

const gnosticV3: GnosticNames = {
  accepted: [
    'application/com.github.proto-openapi.spec.v3@v1.0+protobuf',
    'application/com.github.proto-openapi.spec.v3.v1.0+protobuf',
  ],
  answer: 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf',
};

/** Of what this server serves itself, and of what extension servers do. */
export interface AllDocuments {
  readonly own: OpenApiDocuments;
  readonly extensions: ExtensionDocuments;
}

/** Answers /openapi/v2, /openapi/v3 and the documents of groups below it; undefined for other paths. */
export async function answerOpenApi(documents: AllDocuments, asked: PathQuestion): Promise<PathAnswer | undefined> {
  const path = asked.path.slice('/openapi/'.length).replace(/\/$/, '');
  if (path === 'v2') return whole(documents, asked);
  if (path === 'v3') return index(documents, asked);
  return path.startsWith('v3/') ? group(documents, asked, path.slice('v3/'.length)) : undefined;
}

async function whole({ own, extensions }: AllDocuments, asked: PathQuestion): Promise<PathAnswer> {
  const { form, type } = wantedForm(asked.headers.accept, gnosticV2);
  const theirs = await extensions.v2();
  const all = createHash('sha256').update(await own.hash());
  for (const { hash } of theirs) all.update(hash);
  const hash = all.digest('hex');
  return document(asked, `${hash}-${form}`, type, () => own.v2(form, hash, theirs));
}

async function index({ own, extensions }: AllDocuments, asked: PathQuestion): Promise<PathAnswer> {
  const theirs = await extensions.hashes();
  const hashes = [...(await own.hashes()), ...theirs];
  const paths = Object.fromEntries(
    hashes.map(([path, hash]) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }]),
  );
  const tag = [await own.hash(), ...theirs.values()].join('-');
  return withTag(asked.headers, tag, jsonAnswer({ paths }));
}

async function group({ own, extensions }: AllDocuments, asked: PathQuestion, path: string): Promise<PathAnswer | undefined> {
  const theirs = await extensions.hashOf(path);
  const hash = theirs ?? (await own.hashes()).get(path);
  if (hash === undefined) return undefined;
  const { form, type } = wantedForm(asked.headers.accept, gnosticV3);
  const wanted = asked.query.get('hash');
  if (wanted && wanted !== hash) {
    const headers = { location: `/openapi/v3/${path}?hash=${hash}` };
    return { code: 301, contentType: 'text/plain; charset=utf-8', headers };
  }
  const tag = form === 'json' ? hash : `${hash}-${form}`;
  const make = async (): Promise<Buffer> => {
    if (theirs === undefined) return own.v3(form, path, hash)!;
    const found = await extensions.v3(path, form === 'json' ? 'application/json' : gnosticV3.accepted[0]!);
    if (!found) throw notAcceptable(['application/json']);
    return compressed(found);
  };
  const answer = await document(asked, tag, type, make);
  // The address names the document: behind it is never another one.
  return wanted ? { ...answer, headers: { ...answer.headers, 'cache-control': 'public, immutable' } } : answer;
}

async function document(asked: PathQuestion, tag: string, contentType: string, make: () => Promise<Buffer>): Promise<PathAnswer> {
  const { headers } = asked;
  const known = withTag(headers, tag, { code: 200, contentType, headers: { vary: 'Accept, Accept-Encoding' } });
  if (known.code === 304) return known;
  const bytes = await make();
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0+)?\s*(?:,|$))/.test(String(headers['accept-encoding'] ?? ''));
  if (!takesGzip) return { ...known, body: await decompressed(bytes) };
  return { ...known, body: bytes, headers: { ...known.headers, 'content-encoding': 'gzip' } };
}

const typesOf = (accept: string | undefined): string[] =>
  (accept?.trim() || '*/*').split(',', 32).map((each) => each.split(';')[0]!.trim().toLowerCase());

const isJson = (type: string): boolean => ['application/json', 'application/*', '*/*'].includes(type);

/** Throws NOT_ACCEPTABLE. */
function wantedForm(accept: string | undefined, gnostic: GnosticNames): { readonly form: DocumentForm; readonly type: string } {
  for (const type of typesOf(accept)) {
    if (isJson(type)) return { form: 'json', type: 'application/json' };
    if (gnostic.accepted.includes(type)) return { form: 'protobuf', type: gnostic.answer };
  }
  throw notAcceptable(['application/json', gnostic.answer]);
}

function notAcceptable(types: readonly string[]): ApiError {
  const message = `only the following media types are accepted: ${types.join(', ')}`;
  return new ApiError('INVALID_ARGUMENT', 'NotAcceptable', message, { parts: { of: 'text', message } });
}
