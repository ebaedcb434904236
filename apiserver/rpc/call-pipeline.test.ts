import { EventEmitter } from 'node:events';
import { status as codes, Metadata, type ServerUnaryCall, type ServerWritableStream } from '@grpc/grpc-js';
import pino from 'pino';
import { expect, it } from 'vitest';
import { permissionDenied } from '../../api/errors/index.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { AccessTable } from '../calls/access-table.ts';
import { CallMeters } from '../calls/call-meter.ts';
import type { CallContext } from '../verbs/call-context.ts';
import { CallPipeline, type CallPipelineOptions } from './call-pipeline.ts';

const PATH = '/berth.server.v1.SecretKeys/Rotate';
const access = { verb: 'create', kind: 'SecretKey', namespace: '', name: '' } as const;

/** A pipeline that notes its steps, and a call of a user of it; a step with the name `failing` throws. */
function createPipeline(failing?: string) {
  const steps: string[] = [];
  const step = (name: string): void => {
    steps.push(name);
    if (name === failing) throw permissionDenied(name);
  };
  const options = {
    tokens: {
      find(token: string) {
        step('identify');
        return { user: token, groups: [] };
      },
    },
    authorizer: { authorize: () => step('authorize'), attributes: () => ({}) },
    access: new AccessTable(),
    log: pino({ level: 'silent' }),
    requestId: () => 'r',
    stopping: new AbortController().signal,
    meters: new CallMeters(new MetricsRegistry()),
    limits: { enter: () => step('enter limits'), leave: () => step('leave limits') },
    answers: { assert: () => step('require room'), isCounted: () => false, holdSmall: () => () => {} },
    anonymous: {},
  } as unknown as CallPipelineOptions;
  const metadata = new Metadata();
  metadata.set('authorization', 'Bearer anna');
  const call = Object.assign(new EventEmitter(), {
    metadata,
    request: Buffer.alloc(0),
    cancelled: false,
    getPath: () => PATH,
    getAuthContext: () => ({}),
    sendMetadata: () => step('warn'),
  });
  return { steps, step, pipeline: new CallPipeline(options), call };
}

type Prepare = (call: CallContext, step: (name: string) => void) => void;

const authorizes: Prepare = (call, step) => {
  step('decode');
  call.authorize(access);
};

/** A unary call through a pipeline: its steps and what the client got. */
async function unary(prepare: Prepare, failing?: string) {
  const { steps, step, pipeline, call } = createPipeline(failing);
  const method = pipeline.unary((_, context) => {
    prepare(context, step);
    const run = async () => {
      step('run');
      return { bytes: Buffer.from('answer'), warnings: ['careful'] };
    };
    return { run };
  });
  const [error, answer] = await new Promise<[{ code?: number } | null, unknown]>((resolve) => {
    method(call as unknown as ServerUnaryCall<Buffer, Buffer>, (...[failure, bytes]) => {
      steps.push('answer');
      resolve([failure as { code?: number } | null, bytes]);
    });
  });
  await new Promise((resolve) => setImmediate(resolve));
  return { steps, code: error?.code ?? codes.OK, answer };
}

it('takes the steps of a unary call in order', async () => {
  const { steps, code, answer } = await unary(authorizes);
  const entrance = ['identify', 'enter limits', 'require room', 'decode', 'authorize'];
  expect(steps).toEqual([...entrance, 'run', 'warn', 'answer', 'leave limits']);
  expect([code, String(answer)]).toEqual([codes.OK, 'answer']);
});

it('answers a unary call in the same turn when it runs without a promise', () => {
  const { steps, pipeline, call } = createPipeline();
  const method = pipeline.unary((_, context) => {
    context.authorize(access);
    return { run: () => ({ bytes: Buffer.from('answer') }) };
  });
  method(call as unknown as ServerUnaryCall<Buffer, Buffer>, (_, bytes) => steps.push(String(bytes)));
  expect(steps.slice(-2)).toEqual(['answer', 'leave limits']);
});

it.each([
  ['identify', ['identify']],
  ['enter limits', ['identify', 'enter limits']],
  ['require room', ['identify', 'enter limits', 'require room', 'leave limits']],
  ['authorize', ['identify', 'enter limits', 'require room', 'decode', 'authorize', 'leave limits']],
])('ends a unary call with the error of the step "%s", without an effect', async (failing, taken) => {
  const { steps, code } = await unary(authorizes, failing);
  expect(steps).toEqual([...taken, 'answer']);
  expect(code).toBe(codes.PERMISSION_DENIED);
});

it('does not run a unary call that was prepared without being authorized', async () => {
  const { steps, code } = await unary((_, step) => step('decode'));
  expect(steps).toEqual(['identify', 'enter limits', 'require room', 'decode', 'leave limits', 'answer']);
  expect(code).toBe(codes.INTERNAL);
});

it.each([
  ['authorized', true, ['run'], undefined],
  ['not authorized', false, [], codes.INTERNAL],
])('runs a stream only when it was authorized: one that was %s', async (_title, isAuthorized, ran, code) => {
  const { steps, pipeline, call } = createPipeline();
  const method = pipeline.stream((_, context) => {
    if (isAuthorized) context.authorize(access);
    return { run: async () => void steps.push('run') };
  });
  const ended = new Promise<{ code: number } | undefined>((resolve) => {
    call.on('error', resolve);
    Object.assign(call, { end: () => resolve(undefined) });
  });
  method(call as unknown as ServerWritableStream<Buffer, Buffer>);
  expect((await ended)?.code).toBe(code);
  expect(steps.filter((each) => each === 'run')).toEqual(ran);
});
