/**
 * hookgate on AWS Lambda.
 * @module
 */

export { createLambdaHandler, type LambdaEvent, type LambdaResult } from "./endpoint.ts";
