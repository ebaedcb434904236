import type {
  Explanation,
  ListPlacementsRequest,
  PlacementAnswer,
  PlacementList,
  PlacementQuestion,
  SimulateRequest,
  SimulateResponse,
  WhyRequest,
} from '../../api/generated/types.ts';
import type { Connection, Method } from '../connection/connection.ts';
import { toStatus } from '../connection/status-details.ts';
import type { CallOptions } from './resource-client.ts';

/**
 * Why pods are where they are, and where others would go. All throw UNAVAILABLE while the scheduler in question does
 * not run.
 */
export interface PlacementsClient {
  why(request: WhyRequest, call?: CallOptions): Promise<Explanation>;
  simulate(request: SimulateRequest, call?: CallOptions): Promise<SimulateResponse>;
  list(request?: ListPlacementsRequest, call?: CallOptions): Promise<PlacementList>;
  /**
   * For schedulers: answers what others ask about its pods, one after the other, until the stream ends; what `answer`
   * throws is the asker's to hear. Throws when the stream breaks or the signal aborts.
   */
  serve(schedulerName: string, answer: AnswerQuestion, call: { readonly signal: AbortSignal }): Promise<void>;
}

/** One of its fields is set. */
export type PlacementReply = Pick<PlacementAnswer, 'explanation' | 'simulation' | 'placements'>;
export type AnswerQuestion = (
  question: Pick<PlacementQuestion, 'why' | 'simulate' | 'list' | 'audience'>,
) => Promise<PlacementReply>;

const method = (name: string, request: string, response: string): Method => ({
  path: `/berth.scheduling.v1.Placements/${name}`,
  request: `berth.scheduling.v1.${request}`,
  response: `berth.scheduling.v1.${response}`,
});

const methods = {
  why: method('Why', 'WhyRequest', 'Explanation'),
  simulate: method('Simulate', 'SimulateRequest', 'SimulateResponse'),
  list: method('List', 'ListPlacementsRequest', 'PlacementList'),
  serve: method('Serve', 'PlacementAnswer', 'PlacementQuestion'),
};

export function createPlacementsClient(connection: Connection): PlacementsClient {
  return {
    why: (request, call) => connection.unary<Explanation>(methods.why, request, call),
    simulate: (request, call) => connection.unary<SimulateResponse>(methods.simulate, request, call),
    list: (request = {}, call) => connection.unary<PlacementList>(methods.list, request, call),
    async serve(schedulerName, answer, call) {
      const duplex = connection.duplex<PlacementAnswer, PlacementQuestion>(methods.serve, call);
      // A failure of the first write is the call's, and reading throws it.
      duplex.write({ schedulerName }).catch(() => {});
      for await (const { id = 0, ...question } of duplex.messages()) {
        const reply = await answer(question).catch((error: unknown) => ({ error: toStatus(error) }));
        await duplex.write({ id, ...reply });
      }
    },
  };
}
