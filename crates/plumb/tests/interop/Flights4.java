// Reads the flight service in version 4 with Olingo's client, and changes it in a batch; prints what it found as JSON.
//
//     java -cp 'FOLDER/*' Flights4.java URL USER PASSWORD

import java.math.BigDecimal;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.StringJoiner;
import org.apache.olingo.client.api.ODataClient;
import org.apache.olingo.client.api.communication.ODataClientErrorException;
import org.apache.olingo.client.api.communication.request.ODataBatchableRequest;
import org.apache.olingo.client.api.communication.request.batch.BatchManager;
import org.apache.olingo.client.api.communication.request.batch.ODataBatchRequest;
import org.apache.olingo.client.api.communication.request.batch.ODataChangeset;
import org.apache.olingo.client.api.communication.request.cud.UpdateType;
import org.apache.olingo.client.api.communication.response.ODataBatchResponse;
import org.apache.olingo.client.api.domain.ClientEntity;
import org.apache.olingo.client.api.domain.ClientEntitySet;
import org.apache.olingo.client.core.ODataClientFactory;
import org.apache.olingo.client.core.http.BasicAuthHttpClientFactory;
import org.apache.olingo.commons.api.edm.Edm;
import org.apache.olingo.commons.api.edm.FullQualifiedName;
import org.apache.olingo.commons.api.format.ContentType;

public class Flights4 {
    static ODataClient client = ODataClientFactory.getClient();

    static ClientEntitySet set(URI uri) {
        var request = client.getRetrieveRequestFactory().getEntitySetRequest(uri);
        return request.execute().getBody();
    }

    static ClientEntity entity(URI uri) {
        return client.getRetrieveRequestFactory().getEntityRequest(uri).execute().getBody();
    }

    static String text(ClientEntity entity, String property) {
        return entity.getProperty(property).getPrimitiveValue().toString();
    }

    static ClientEntity entity(String kind, Object... values) {
        ClientEntity made = client.getObjectFactory().newEntity(
            new FullQualifiedName("RMTSAMPLEFLIGHT", kind));
        for (int at = 0; at < values.length; at += 2) {
            var builder = client.getObjectFactory().newPrimitiveValueBuilder();
            var value = values[at + 1] instanceof Integer number ? builder.buildInt32(number)
                : values[at + 1] instanceof BigDecimal number ? builder.buildDecimal(number)
                : builder.buildString(values[at + 1].toString());
            made.getProperties().add(client.getObjectFactory().newPrimitiveProperty(
                (String) values[at], value));
        }
        return made;
    }

    static ODataBatchableRequest create(String at, ClientEntity made) {
        return client.getCUDRequestFactory().getEntityCreateRequest(URI.create(at), made);
    }

    // The answers of two sets of changes: one that is done, and one that is not.
    static String changed(String url, String login) {
        ODataBatchRequest request = client.getBatchRequestFactory().getBatchRequest(url);
        request.addCustomHeader("Prefer", "odata.continue-on-error");
        // what is sent while it is made cannot be sent again with the log-on
        request.addCustomHeader("Authorization", "Basic "
            + Base64.getEncoder().encodeToString(login.getBytes(StandardCharsets.UTF_8)));
        BatchManager manager = request.payloadManager();
        ODataChangeset set = manager.addChangeset();
        ClientEntity carrier = entity("Carrier", "carrid", "ZJ", "CARRNAME", "Java Air");
        set.addRequest(create(url + "/CarrierCollection", carrier));
        set.addRequest(create("$1/carrierFlights", entity("Flight", "connid", "0001",
            "fldate", "2026-11-24", "PRICE", new BigDecimal("123.45"))));
        String key = url + "/FlightCollection(carrid='ZJ',connid='0001',fldate=2026-11-24)";
        set.addRequest(client.getCUDRequestFactory().getEntityUpdateRequest(
            URI.create(key), UpdateType.PATCH, entity("Flight", "SEATSOCC", 5)));
        ODataChangeset refused = manager.addChangeset();
        refused.addRequest(create(url + "/CarrierCollection", carrier));
        StringJoiner answers = new StringJoiner(",", "[", "]");
        ODataBatchResponse response = manager.getResponse();
        for (var items = response.getBody(); items.hasNext();) {
            for (var item = items.next(); item.hasNext();) {
                answers.add(String.valueOf(item.next().getStatusCode()));
            }
        }
        return answers.toString();
    }

    public static void main(String[] words) throws Exception {
        String url = words[0].substring(0, words[0].length() - 1);
        client.getConfiguration().setHttpClientFactory(
            new BasicAuthHttpClientFactory(words[1], words[2]));
        client.getConfiguration().setDefaultPubFormat(ContentType.JSON);
        Edm types = client.getRetrieveRequestFactory().getMetadataRequest(url).execute().getBody();
        String container = types.getEntityContainer().getEntitySet("FlightCollection").getName();
        StringJoiner found = new StringJoiner(",", "{", "}");
        var flights = client.newURIBuilder(url).appendEntitySetSegment(container);
        found.add("\"all\":" + set(flights.build()).getEntities().size());
        String key = url + "/FlightCollection(carrid='AA',connid='0017',fldate=2011-06-01)";
        ClientEntity flight = entity(URI.create(key + "?$expand=flightCarrier"));
        found.add("\"price\":" + text(flight, "PRICE"));
        // without the description of types at hand, what is expanded is a part like any other
        var carrier = flight.getProperty("flightCarrier").getComplexValue();
        var name = carrier.get("CARRNAME").getPrimitiveValue();
        found.add("\"carrier\":\"" + name + "\"");
        URI dear = client.newURIBuilder(url).appendEntitySetSegment("FlightCollection")
            .filter("carrid eq 'LH'").orderBy("PRICE desc").select("carrid", "PRICE")
            .count(true).top(2).build();
        ClientEntitySet page = set(dear);
        StringJoiner keys = new StringJoiner(",", "[", "]");
        page.getEntities().forEach(one -> keys.add("\"" + text(one, "carrid") + "\""));
        found.add("\"dear\":" + keys);
        found.add("\"lufthansa\":" + page.getCount());
        URI led = client.newURIBuilder(url).appendEntitySetSegment("CarrierCollection")
            .appendKeySegment("QF").appendNavigationSegment("carrierFlights").build();
        found.add("\"flights_of_carrier\":" + set(led).getEntities().size());
        try {
            entity(URI.create(url + "/CarrierCollection('XX')"));
        } catch (ODataClientErrorException error) {
            found.add("\"missing\":" + error.getStatusLine().getStatusCode());
        }
        found.add("\"changed\":" + changed(url, words[1] + ":" + words[2]));
        String made = "/FlightCollection(carrid='ZJ',connid='0001',fldate=2026-11-24)";
        ClientEntity one = entity(URI.create(url + made));
        found.add("\"made\":\"" + text(one, "PRICE") + " " + text(one, "SEATSOCC") + "\"");
        System.out.println(found);
    }
}
