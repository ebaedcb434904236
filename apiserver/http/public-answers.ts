import type { Logger } from 'pino';
import { asApiError } from '../../api/errors/index.ts';
import { judgeError } from '../calls/judge-error.ts';
import type { AnonymousCalls } from '../limits/anonymous-calls.ts';
import { contentTypes } from './answers/accept.ts';
import { KINDS, type PathAnswers } from './discovery/path-answers.ts';
import { statusOf } from './errors/status-object.ts';
import type { HttpRequest, HttpResponse } from './http-call.ts';
import { announceEnd, endAnswer } from './listener/unread-request.ts';
import type { Target } from './requests/request-target.ts';

interface PublicDeps {
  readonly paths: PathAnswers;
  readonly anonymous: AnonymousCalls;
  readonly log: Logger;
}

/** What is answered without credentials. Never throws. */
export async function answerPublic(
  { paths, anonymous, log }: PublicDeps,
  { pathname, searchParams }: Target,
  { request, response }: { readonly request: HttpRequest; readonly response: HttpResponse },
): Promise<void> {
  try {
    const leave = anonymous.enter(request.socket.remoteAddress ?? '', 'unary');
    if (response.destroyed) leave();
    else response.once('close', leave);
    const { method = '', headers } = request;
    const { code, contentType, body = '' } = await paths.answer({ path: pathname, query: searchParams, method, headers });
    announceEnd(request, response);
    const length = { 'content-length': Buffer.byteLength(body) };
    response.writeHead(code, { 'content-type': contentType, 'cache-control': 'no-cache, private', ...length });
    endAnswer(request, response, method === 'HEAD' ? undefined : Buffer.from(body));
  } catch (error) {
    const failed = { method: KINDS, requestId: '', user: undefined };
    const status = statusOf(judgeError(log, asApiError(error) ?? error, failed));
    const body = Buffer.from(JSON.stringify(status));
    announceEnd(request, response);
    response.writeHead(status.code ?? 500, { 'content-type': contentTypes.json, 'content-length': body.length });
    endAnswer(request, response, body);
  }
}
