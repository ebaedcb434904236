import { ApiError } from '../../api/errors/index.ts';
import { type DocumentForm, decompressed, type OpenApiDocuments } from '../openapi/documents.ts';
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

/** Answers /openapi/v2, /openapi/v3 and the documents of groups below it; undefined for other paths. */
export async function answerOpenApi(documents: OpenApiDocuments, asked: PathQuestion): Promise<PathAnswer | undefined> {
  const path = asked.path.slice('/openapi/'.length).replace(/\/$/, '');
  if (path === 'v2') return whole(documents, asked);
  if (path === 'v3') return index(documents, asked);
  return path.startsWith('v3/') ? group(documents, asked, path.slice('v3/'.length)) : undefined;
}

async function whole(documents: OpenApiDocuments, asked: PathQuestion): Promise<PathAnswer> {
  const { form, type } = wantedForm(asked.headers.accept, gnosticV2);
  const hash = await documents.hash();
  return document(asked, `${hash}-${form}`, type, () => documents.v2(form, hash));
}

async function index(documents: OpenApiDocuments, asked: PathQuestion): Promise<PathAnswer> {
  const hashes = await documents.hashes();
  const paths = Object.fromEntries(
    [...hashes].map(([path, hash]) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }]),
  );
  return withTag(asked.headers, await documents.hash(), jsonAnswer({ paths }));
}

async function group(documents: OpenApiDocuments, asked: PathQuestion, path: string): Promise<PathAnswer | undefined> {
  const hash = (await documents.hashes()).get(path);
  if (hash === undefined) return undefined;
  const { form, type } = wantedForm(asked.headers.accept, gnosticV3);
  const wanted = asked.query.get('hash');
  if (wanted && wanted !== hash) {
    const headers = { location: `/openapi/v3/${path}?hash=${hash}` };
    return { code: 301, contentType: 'text/plain; charset=utf-8', headers };
  }
  const tag = form === 'json' ? hash : `${hash}-${form}`;
  const answer = await document(asked, tag, type, () => documents.v3(form, path, hash)!);
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
