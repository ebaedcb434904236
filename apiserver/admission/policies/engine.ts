/** What compiles and evaluates expressions: one module, which is loaded with the first policy or match condition. */
export { messageTypes, withObjectMeta } from '../../cel/message-types.ts';
export { schemaTypes } from '../../cel/schema-types.ts';
export { checkTypes, compileMatchConditions, compilePolicy } from './compile-policy.ts';
export { conditionsHold, EvaluationError, judge, newBudget } from './evaluate.ts';
