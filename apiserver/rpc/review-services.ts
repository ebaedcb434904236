import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { encodeMessage } from '../../api/codec/message.ts';
import { decodeStrictly } from '../registry/decode.ts';
import { answerReview, type ReviewKind, type Reviews, type ReviewTokens, reviewPackages } from '../verbs/reviews.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';

/** A service of reviews of access or identity; each has the one method Create. */
interface ReviewService {
  readonly name: string;
  readonly definition: ReturnType<typeof serviceDefinition>;
  readonly implementation: UntypedServiceImplementation;
}

/** Kubernetes' reviews. */
export function reviewServices(pipeline: CallPipeline, tokens: ReviewTokens): ReviewService[] {
  return (Object.keys(reviewPackages) as ReviewKind[]).map((kind) => reviewService(kind, pipeline, tokens));
}

function reviewService<K extends ReviewKind>(kind: K, pipeline: CallPipeline, tokens: ReviewTokens): ReviewService {
  const message = `${reviewPackages[kind]}.${kind}`;
  const name = `${message}s`;
  const create = pipeline.unary((request, call) => {
    const { object = {} } = decodeStrictly<{ object?: Reviews[K] }>(`${message}WriteRequest`, request, 'request');
    const answer = answerReview(kind, object as Reviews[K], call, tokens);
    return { run: async () => ({ bytes: encodeMessage(message, answer) }) };
  });
  return { name, definition: serviceDefinition(name), implementation: { Create: create } };
}
